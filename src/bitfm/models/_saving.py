"""Models to model files and back. No pickle: arrays, and settings as JSON."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from bitfm import modelfile
from bitfm.data.blocks import FieldSpan
from bitfm.errors import ModelFileError
from bitfm.models import hashing
from bitfm.models._base import FeatureModel
from bitfm.models._codes import CodeModel
from bitfm.models._progress import Iteration
from bitfm.models.bias import BiasModel
from bitfm.models.discrete import DiscreteFM
from bitfm.models.distilled import DistilledFM
from bitfm.models.fm import FM
from bitfm.models.popularity import Popularity
from bitfm.models.random_scores import RandomScores
from bitfm.models.solvers.gibbs import MOST_NUMBERS, Samples, by_feature, from_features

if TYPE_CHECKING:
    from bitfm.retrieval import Index

__all__ = ["TABLES_PREFIX", "build_model", "load", "save_model", "told_of"]

_KINDS: dict[str, type[FeatureModel]] = {
    kind.__name__: kind for kind in (BiasModel, FM, DiscreteFM, DistilledFM, Popularity, RandomScores)
} | {name: getattr(hashing, name) for name in hashing.__all__}
_REALS = (np.dtype(np.float32), np.dtype(np.float64))
_TEACHERS = ("teacher", "fm")  # settings that are models to learn from
INDEX_PREFIX = "index."  # of the names of an index's tensors
TABLES_PREFIX = "tables."  # of the names of what a recommender keeps beside its model
_OF_SAMPLES = ("sample_biases", "sample_weights", "sample_factors", "noise_precisions")


def save_model(
    model: FeatureModel,
    path: Path,
    index: Index | None = None,
    *,
    beside: tuple[Mapping[str, npt.NDArray[Any]], Mapping[str, str]] = ({}, {}),
) -> None:
    """Write a fitted model, an index of it, and what else is to be in the file: tensors and metadata."""
    check_is_fitted(model)
    kind = type(model).__name__
    if kind not in _KINDS:
        raise TypeError(f"save: {kind} is not one of bitfm's own models ({', '.join(_KINDS)}).")
    _check_shape(model)
    tensors = {"bias": np.array(model.bias_, np.float64), "weights": np.asarray(model.weights_)}
    if isinstance(model, FM) and hasattr(model, "samples_"):  # factors_ is one of them
        biases, weights, _, precisions = model.samples_
        of_samples = (biases, weights, by_feature(model.samples_), precisions)
        tensors |= dict(zip(_OF_SAMPLES, of_samples, strict=True))
    elif isinstance(model, FM):
        tensors["factors"] = np.asarray(model.factors_)
    elif isinstance(model, CodeModel):
        tensors["codes"], tensors["gains"] = np.asarray(model.codes_), np.asarray(model.gains_)
    settings = {name: _plain(name, value) for name, value in model.get_params(deep=False).items()}
    wrong = _misfits(type(model).__init__, settings) + _infinite(settings)
    if wrong:
        raise TypeError(f"save: {wrong[0]} = {settings[wrong[0]]!r} cannot be kept in a file; set it to a plain value.")
    metadata = {
        "model": kind,
        "settings": json.dumps(settings, sort_keys=True, allow_nan=False),
        "fields": json.dumps([[f.block, f.name, f.size] for f in model.fields_]),
        "history": json.dumps([_item(item) for item in getattr(model, "fit_log_", [])], allow_nan=False),
    }
    if isinstance(model, CodeModel):
        metadata["pairs"] = model.pairs_
    if index is not None:
        from bitfm.retrieval._saving import index_contents

        if index.model is not model or index._fitted is not model.codes_:
            raise ValueError("save: the index is of another model, or of another fit; make one with index().")
        of_index, about = index_contents(index)
        tensors |= of_index
        metadata |= about
    modelfile.write(path, {**tensors, **beside[0]}, {**metadata, **beside[1]})


def load(path: str | os.PathLike[str]) -> FeatureModel:
    """Open a saved model by memory map: in milliseconds whatever its size, shared between processes.

    Parameters
    ----------
    path : path of a file that a model's ``save`` wrote

    Returns
    -------
    BiasModel, FM, DiscreteFM, DistilledFM or another of bitfm's models
        Fitted; its arrays are read-only views into the file.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a bitfm model, or comes from a newer bitfm.

    Examples
    --------
    >>> import tempfile, pathlib, scipy.sparse as sp
    >>> from bitfm import Block, Blocks, DistilledFM, load
    >>> X = Blocks(user=Block([0, 0, 1], {"id": sp.identity(2)}), item=Block([0, 1, 0], {"id": sp.identity(2)}))
    >>> model = DistilledFM(bits=8).fit(X, [5, 4, 3])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(pathlib.Path(folder) / "shop.bitfm")
    ...     opened = load(pathlib.Path(folder) / "shop.bitfm")
    ...     bool((opened.predict(X) == model.predict(X)).all())
    True
    """
    contents = modelfile.read(path)
    with told_of(path):
        return build_model(contents)


@contextmanager
def told_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Name the file in what is said of its contents."""
    try:
        yield
    except ModelFileError as error:
        raise ModelFileError(f"{os.fspath(path)}: {error}; get a fresh copy or save the model again.") from None


def build_model(contents: modelfile.Contents) -> FeatureModel:
    """Make a model of what a file holds; tables that a recommender keeps beside it are not looked at."""
    metadata = contents.metadata
    others = (INDEX_PREFIX, TABLES_PREFIX)
    tensors = {name: tensor for name, tensor in contents.tensors.items() if not name.startswith(others)}
    of_index = {name: tensor for name, tensor in contents.tensors.items() if name.startswith(INDEX_PREFIX)}
    kind = metadata.get("model")
    if kind not in _KINDS:
        raise ModelFileError(f"holds a model of unknown kind {kind!r}")
    settings = _json(metadata, "settings", dict)
    if settings.get("anchor_strength") == "inf":
        settings["anchor_strength"] = math.inf
    model = _KINDS[kind]()
    unknown = set(settings) - set(model.get_params(deep=False))
    if unknown:
        raise ModelFileError(f"has settings that {kind} does not know: {sorted(unknown)}")
    wrong = _misfits(type(model).__init__, settings)
    if wrong:
        raise ModelFileError(f"has {wrong[0]} = {settings[wrong[0]]!r}, which is of the wrong type")
    model.set_params(**settings)
    model.fields_ = _fields(_json(metadata, "fields", list))
    n = model.fields_[-1].stop
    model.n_features_in_ = n
    bias = float(_tensor(tensors, "bias", (), _REALS[1:]))
    if not np.isfinite(bias):
        raise ModelFileError("has a bias that is not a number")
    model.bias_ = bias
    model.weights_ = _tensor(tensors, "weights", (n,), _REALS)
    expected = {"bias", "weights"}
    if isinstance(model, FM):
        _check_setting(settings, "rank", 1, 4096)
        if any(name in tensors for name in _OF_SAMPLES):
            model.samples_ = _samples(tensors, n, model.rank)
            model.factors_ = model.samples_.factors[-1]
            expected |= set(_OF_SAMPLES)
        else:
            model.factors_ = _tensor(tensors, "factors", (n, model.rank), _REALS)
            expected |= {"factors"}
    elif isinstance(model, CodeModel):
        _check_setting(settings, "bits", 8, 512)
        if model.bits % 8:
            raise ModelFileError(f"has codes of {model.bits} bits, which is no multiple of 8")
        model.codes_ = _tensor(tensors, "codes", (n, model.bits // 8), (np.dtype(np.uint8),))
        model.gains_ = _tensor(tensors, "gains", (n,), _REALS[:1])
        expected |= {"codes", "gains"}
    if set(tensors) != expected:
        raise ModelFileError(f"holds tensors {sorted(tensors)}, but a {kind} has {sorted(expected)}")
    if isinstance(model, CodeModel):
        model.pairs_ = metadata.get("pairs", "")
        if model.pairs_ not in ("all", "across"):
            raise ModelFileError(f"has pairs {model.pairs_!r}, neither 'all' nor 'across'")
    known = ("all", "across", "auto") if isinstance(model, DistilledFM) else ("all", "across")
    if isinstance(model, FM | DiscreteFM | DistilledFM) and model.pairs not in known:
        raise ModelFileError(f"has pairs {model.pairs!r}, none of {', '.join(known)}")
    n_jobs = getattr(model, "n_jobs", None)
    if not isinstance(n_jobs, int | None) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ModelFileError(f"has n_jobs {n_jobs!r}, which is no number of threads")
    cast(Any, model).fit_log_ = _history(_json(metadata, "history", list))
    cast(Any, model).n_iter_ = len(cast(Any, model).fit_log_)
    if "index" in metadata or of_index:
        from bitfm.retrieval._saving import open_index

        if not isinstance(model, CodeModel):
            raise ModelFileError(f"holds an index, which a {kind} has not")
        model._saved_index = open_index(model, _json(metadata, "index", dict), of_index)
    return model


def _item(item: Iteration) -> dict[str, Any]:
    """Return an iteration as JSON can hold it; without its time, so that the same fit gives the same file."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in asdict(item).items()
        if key != "seconds"
    }


def _check_shape(model: FeatureModel) -> None:
    """Refuse what could not be loaded: a size that was changed after the fit."""
    for name, array, unit in (("rank", "factors_", 1), ("bits", "codes_", 8)):
        if hasattr(model, array) and getattr(model, array).shape[1] * unit != getattr(model, name):
            raise ValueError(
                f"save: {name} is {getattr(model, name)!r}, but the model was fitted with "
                f"{getattr(model, array).shape[1] * unit}; set it back or fit again."
            )


def _misfits(described_by: Any, values: dict[str, Any]) -> list[str]:
    """Return the names of the values that are not of the annotated types, as far as JSON tells types apart."""
    hints = _hints(described_by)
    return [name for name, value in values.items() if not _fits(hints[name], value)]


@cache
def _hints(described_by: Any) -> dict[str, Any]:
    return get_type_hints(described_by) | {"random_state": int | None} | dict.fromkeys(_TEACHERS, None.__class__)


def _infinite(values: dict[str, Any]) -> list[str]:
    """Return the names of the values among which is a number that JSON does not have."""
    numbers = {name: value.values() if isinstance(value, dict) else [value] for name, value in values.items()}
    return [name for name, of in numbers.items() if any(isinstance(n, float) and not math.isfinite(n) for n in of)]


def _fits(hint: Any, value: Any) -> bool:
    if hint is Any:  # a number, or one a field
        return all(_fits(float | None, item) for item in (value.values() if isinstance(value, dict) else [value]))
    return isinstance(value, hint) or (isinstance(value, int) and (hint is bool or float in (hint, *get_args(hint))))


def _plain(name: str, value: Any) -> Any:
    """Return a setting as JSON can hold it."""
    if isinstance(value, np.generic):
        value = value.item()
    if name == "anchor_strength" and value == math.inf:
        return "inf"  # a number that JSON does not have
    if name in _TEACHERS:
        return None  # the model does not need it any more
    if name == "random_state" and not isinstance(value, int | None):
        return None  # a generator's state is no part of the model
    if hasattr(value, "items"):
        return {str(key): _plain(name, item) for key, item in value.items()}
    return value


def _json(metadata: Any, name: str, kind: type) -> Any:
    try:
        value = json.loads(metadata[name], parse_constant=_refuse)
    except KeyError:
        raise ModelFileError(f"lacks the entry {name!r}") from None
    except (ValueError, RecursionError):
        raise ModelFileError(f"has an entry {name!r} that is not JSON") from None
    if not isinstance(value, kind):
        raise ModelFileError(f"has an entry {name!r} of the wrong kind")
    return value


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")  # though Python reads it


def _tensor(tensors: Any, name: str, shape: tuple[int, ...], dtypes: tuple[np.dtype[Any], ...]) -> npt.NDArray[Any]:
    if name not in tensors:
        raise ModelFileError(f"lacks the tensor {name!r}")
    array: npt.NDArray[Any] = tensors[name]
    if array.shape != shape or array.dtype not in dtypes:
        wanted = " or ".join(str(d) for d in dtypes)
        raise ModelFileError(f"has {name!r} as {array.dtype} {array.shape}, expected {wanted} {shape}")
    return array


def _samples(tensors: Any, n: int, rank: int) -> Samples:
    """Return the draws of a Gibbs sampler: as many as the factors hold."""
    shape: tuple[int, ...] = tensors["sample_factors"].shape if "sample_factors" in tensors else ()
    count = shape[1] if len(shape) == 3 else 1
    if not 1 <= count <= MOST_NUMBERS // rank:
        raise ModelFileError(f"has 'sample_factors' of {count} samples, expected 1 to {MOST_NUMBERS // rank}")
    factors = _tensor(tensors, "sample_factors", (n, count, rank), _REALS)
    biases = _tensor(tensors, "sample_biases", (count,), _REALS[1:])
    weights = _tensor(tensors, "sample_weights", (count, n), _REALS)
    precisions = _tensor(tensors, "noise_precisions", (count,), _REALS[1:])
    if not np.isfinite(biases).all():
        raise ModelFileError("has 'sample_biases' that are not numbers")
    if not ((precisions > 0) & np.isfinite(precisions)).all():
        raise ModelFileError("has 'noise_precisions' that are not positive numbers")
    return from_features(biases, weights, factors, precisions)


def _fields(items: list[Any]) -> tuple[FieldSpan, ...]:
    spans, start = [], 0
    for item in items:
        fits = isinstance(item, list) and len(item) == 3
        if not fits or not isinstance(item[0], str) or not isinstance(item[1], str) or not _is_size(item[2]):
            raise ModelFileError(f"has a malformed field {item!r}")
        spans.append(FieldSpan(item[0], item[1], start, start + item[2]))
        start += item[2]
    if not spans:
        raise ModelFileError("has no fields")
    blocks = [block for block, _ in groupby(span.block for span in spans)]
    if len(set(blocks)) < len(blocks) or len({(span.block, span.name) for span in spans}) < len(spans):
        raise ModelFileError("has fields that occur twice")
    return tuple(spans)


def _history(items: list[Any]) -> list[Iteration]:
    try:
        filled: list[dict[str, Any]] = [
            {key: float("nan") if value is None else value for key, value in item.items()} for item in items
        ]
        history = [Iteration(**item) for item in filled]
    except (TypeError, AttributeError):
        raise ModelFileError("has a malformed history") from None
    if any(_misfits(Iteration, vars(item)) for item in history):
        raise ModelFileError("has a malformed history")
    return history


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _check_setting(settings: dict[str, Any], name: str, low: int, high: int) -> None:
    value = settings.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ModelFileError(f"has {name} = {value!r}, expected a whole number from {low} to {high}")
