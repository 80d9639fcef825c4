"""Parameters in a file, and what is kept of the model that yielded them. Opening them needs no estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from reprlib import repr as short  # what a file says is of any length
from typing import Annotated, Any, ClassVar, Literal

import msgspec
import numpy as np

from bitfm import persist
from bitfm.data.blocks import FieldSpan
from bitfm.errors import ModelFileError
from bitfm.parameters.parameters import FactorParameters, Parameters
from bitfm.persist import Registry, Tensor, Tensors

__all__ = ["KINDS", "LAYOUTS", "Layout", "ModelRecord", "kind_of", "pack_model", "unpack_model"]

MOST_NUMBERS = 2**20  # that the core takes of a feature: draws × rank
_REAL = "float32 float64"
_PARTS = ("index.", "tables.")  # beside the parameters: names of an index's tensors, and of a recommender's


@dataclass(frozen=True)
class ModelRecord:
    """What a file keeps of an estimator beside its parameters.

    Attributes
    ----------
    kind : str
        The name of its class; see `KINDS`.
    settings : mapping
        Its parameters in scikit-learn's sense, as JSON can hold them.
    fit_log : list of mapping
        The iterations of its fit.
    layout : str
        How its parameters are kept; see `LAYOUTS`.
    extra : mapping of str to array
        Tensors of the layout that are not of the parameters.
    targets : three floats, optional
        Weight, mean and standard deviation of the targets, for a model that goes on from them.
    """

    kind: str
    settings: Mapping[str, Any]
    fit_log: list[dict[str, Any]]
    layout: str
    extra: Tensors = field(default_factory=dict)
    targets: tuple[float, float, float] | None = None


class Layout(ABC):
    """How parameters lie in a file: declared tensors, and the way there and back."""

    tensors: ClassVar[Mapping[str, Tensor]]

    def declared(self, tensors: Tensors) -> Mapping[str, Tensor]:
        """Return what the tensors of a file must be, which may have several forms."""
        return self.tensors

    def of_parameters(self, parameters: Any) -> set[str]:
        """Return the names of the tensors that are of parameters; others are of `ModelRecord.extra`."""
        return set(self.pack(parameters))

    def pack(self, parameters: Any) -> dict[str, Any]:
        """Return the tensors of parameters, those of the same names; others are of `ModelRecord.extra`."""
        own = {name: np.asarray(getattr(parameters, name)) for name in self.tensors if hasattr(parameters, name)}
        return own | {"bias": np.array(parameters.bias, np.float64)}

    @abstractmethod
    def unpack(self, fields: tuple[FieldSpan, ...], pairs: str, tensors: Tensors) -> Any:
        """Return the parameters of tensors that are as declared."""


_LINEAR = {"bias": Tensor("float64", "", -np.inf), "weights": Tensor(_REAL, "features")}


class _Linear(Layout):
    """A bias and weights."""

    tensors = _LINEAR

    def unpack(self, fields: tuple[FieldSpan, ...], pairs: str, tensors: Tensors) -> Parameters:
        nothing = np.zeros((len(tensors["weights"]), 0), np.float32)
        return FactorParameters(fields, float(tensors["bias"]), tensors["weights"], nothing, pairs)


class _Factors(Layout):
    """A vector of real numbers for each feature."""

    tensors = _LINEAR | {"factors": Tensor(_REAL, "features rank")}

    def unpack(self, fields: tuple[FieldSpan, ...], pairs: str, tensors: Tensors) -> Parameters:
        _check_width("factors", 1, tensors["factors"].shape[1])
        return FactorParameters(fields, float(tensors["bias"]), tensors["weights"], tensors["factors"], pairs)


class _Draws(Layout):
    """Draws from a posterior, whose scores are averaged; those of a feature lie side by side."""

    tensors = _LINEAR | {
        "sample_factors": Tensor(_REAL, "features draws rank"),
        "sample_biases": Tensor("float64", "draws", -np.inf),
        "sample_weights": Tensor(_REAL, "draws features"),
        "noise_precisions": Tensor("float64", "draws", np.finfo(np.float64).tiny),
    }

    def unpack(self, fields: tuple[FieldSpan, ...], pairs: str, tensors: Tensors) -> Parameters:
        n_features, n_draws, rank = tensors["sample_factors"].shape
        _check_width("sample_factors", n_draws, rank)
        factors = tensors["sample_factors"].reshape(n_features, n_draws * rank)
        return FactorParameters(fields, float(tensors["bias"]), tensors["weights"], factors, pairs, n_draws)


LAYOUTS: Registry[Layout] = Registry("bitfm.layouts")
for _name, _layout in {"linear": _Linear(), "factors": _Factors(), "draws": _Draws()}.items():
    LAYOUTS.register(_name, _layout)

# The estimators that files are of. They are imported only when one is asked for.
KINDS: Registry[Any] = Registry(
    "bitfm.kinds",
    {name: f"bitfm.models:{name}" for name in ("BiasModel", "FM", "DiscreteFM", "DistilledFM", "ImplicitFM")},
)

_Size = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]
_Weight = Annotated[float, msgspec.Meta(gt=0)]
_Deviation = Annotated[float, msgspec.Meta(ge=0)]


class _Model(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    kind: str
    layout: str
    settings: dict[str, Any]
    fields: list[tuple[str, str, _Size]]
    pairs: Literal["all", "across"]
    fit_log: list[dict[str, Any]]
    targets: tuple[_Weight, float, _Deviation] | None = None


def pack_model(record: ModelRecord, parameters: Any) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the tensors and the metadata of a model."""
    layout = LAYOUTS.get(record.layout)
    if layout is None:
        raise ValueError(f"save: there is no layout {record.layout!r}; register it in LAYOUTS.")
    fields = [(span.block, span.name, span.size) for span in parameters.fields]
    settings, log = dict(record.settings), record.fit_log
    about = _Model(record.kind, record.layout, settings, fields, parameters.pairs, log, record.targets)
    return {**layout.pack(parameters), **record.extra}, {"model": persist.encode(about)}


def unpack_model(contents: persist.Contents) -> tuple[ModelRecord, Any]:
    """Return what a file keeps of a model; tables that a recommender keeps beside it are not looked at."""
    about = persist.decode(contents.metadata, "model", _Model)
    layout = LAYOUTS.get(about.layout)
    if layout is None:
        raise ModelFileError(f"has the unknown layout {short(about.layout)}, expected {' or '.join(LAYOUTS.names())}")
    fields = _spans(about.fields)
    tensors = {name: tensor for name, tensor in contents.tensors.items() if not name.startswith(_PARTS)}
    persist.check_tensors(tensors, layout.declared(tensors), {"features": fields[-1].stop})
    parameters = layout.unpack(fields, about.pairs, tensors)
    if hasattr(parameters, "file"):  # what is checked on first use says where it is from
        parameters = replace(parameters, file=contents.path)
    own = layout.of_parameters(parameters)
    extra = {name: tensor for name, tensor in tensors.items() if name not in own}
    return ModelRecord(about.kind, about.settings, about.fit_log, about.layout, extra, about.targets), parameters


def kind_of(record: ModelRecord) -> Any:
    """Return the class of the estimator that a file keeps."""
    kind = KINDS.get(record.kind)
    if kind is None:
        what = f"holds a model of unknown kind {short(record.kind)}"
        raise ModelFileError(f"{what}; install the package it comes from, such as bitfm-research")
    return kind


def _check_width(name: str, n_draws: int, rank: int) -> None:
    if not 1 <= n_draws * rank <= MOST_NUMBERS:
        raise ModelFileError(f"has {name!r} of {n_draws} draws of rank {rank}, expected 1 to {MOST_NUMBERS} numbers")


def _spans(items: list[tuple[str, str, int]]) -> tuple[FieldSpan, ...]:
    spans, start = [], 0
    for block, name, size in items:
        spans.append(FieldSpan(block, name, start, start + size))
        start += size
    if not spans:
        raise ModelFileError("has no fields")
    blocks = [block for block, _ in groupby(span.block for span in spans)]
    if len(set(blocks)) < len(blocks) or len({(span.block, span.name) for span in spans}) < len(spans):
        raise ModelFileError("has fields that occur twice")
    return tuple(spans)
