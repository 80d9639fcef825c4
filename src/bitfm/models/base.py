"""What all models share: checking input, scoring, saving."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from reprlib import repr as short  # what a file says is of any length
from typing import Any, ClassVar, Self, TypeVar, cast
from weakref import WeakKeyDictionary

import msgspec
import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_array, check_consistent_length, check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from bitfm import persist
from bitfm.data.blocks import Block, Blocks, FieldSizes, FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.data.matrix_checks import check_sizes
from bitfm.errors import ModelFileError
from bitfm.models._settings import plain_settings, settings_of
from bitfm.models.progress import Callback, Iteration, Progress
from bitfm.parameters import KINDS, FactorParameters, ModelRecord, Parameters, pack_model
from bitfm.persist import Tensors
from bitfm.validation import check_real, thread_count

__all__ = ["FeatureModel", "Floats", "check_finite", "check_same_features", "counted", "iteration_of", "register_kind"]

Floats = npt.NDArray[Any]
Kind = TypeVar("Kind", bound="type[FeatureModel]")
_MATRIX: Any = {"accept_sparse": ["csr", "csc", "coo"], "accept_large_sparse": True, "dtype": [np.float64, np.float32]}
_parameters: WeakKeyDictionary[FeatureModel, Parameters] = WeakKeyDictionary()  # predicting leaves a model as it was


class FeatureModel(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A model of ratings by features: bias + Σ w x, and pair terms where the model has them."""

    unsaved: ClassVar[tuple[str, ...]] = ()  # settings that a file does not keep: the fitted model has no need of them
    n_features_in_: int
    n_iter_: int
    fit_log_: list[Iteration]
    fields_: tuple[FieldSpan, ...]
    bias_: float
    weights_: Floats
    saved_index: Any  # what the model's file held beside it, of a class that has one

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "weights_")

    @contextmanager
    def _fitting(self, callback: Callback | None = None) -> Iterator[Progress]:
        """Keep the log of a fit; leave the model as it was if it fails or is interrupted."""
        before, progress = dict(self.__dict__), Progress(getattr(self, "verbose", 0), callback)
        try:
            yield progress
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        self.fit_log_, self.n_iter_ = progress.history, len(progress.history)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, atomically; see `bitfm.load`."""
        persist.write(path, *pack_model(self.record(), self.parameters_))

    def record(self) -> ModelRecord:
        """Return what a file keeps of the model beside its parameters."""
        check_is_fitted(self)
        if KINDS.get(name := type(self).__name__) is not type(self):
            raise TypeError(f"save: {name} is not a kind that files hold; see bitfm.models.register_kind.")
        log = [{k: v for k, v in asdict(item).items() if k != "seconds"} for item in getattr(self, "fit_log_", [])]
        return ModelRecord(name, plain_settings(self), log, *self._kept())

    @classmethod
    def from_record(cls, record: ModelRecord, parameters: Parameters, index: Any = None) -> Self:
        """Return the fitted model of what a file keeps, and the index that was saved beside it."""
        if index is not None and not hasattr(cls, "saved_index"):
            raise ModelFileError(f"holds an index, which a {cls.__name__} does not have")
        model = cls(**settings_of(cls, record.settings))
        model.fields_, model.n_features_in_ = parameters.fields, parameters.n_features
        model.bias_, model.weights_ = parameters.bias, parameters.weights
        if getattr(model, "n_jobs", None) == 0:
            raise ModelFileError("has n_jobs = 0, expected any other whole number")
        model.fit_log_, model.n_iter_ = [iteration_of(item) for item in record.fit_log], len(record.fit_log)
        model._restore(parameters, record.extra)
        if index is not None:
            model.saved_index = index
        return model

    def _kept(self) -> tuple[str, Tensors]:
        """Return the layout of the parameters in a file, and tensors beside them."""
        return "linear", {}

    def _check_unchanged(self, name: str, fitted: int) -> None:
        """Refuse to save a setting that is not what the model was fitted with."""
        if (now := getattr(self, name)) != fitted:
            what = f"{name} is {now!r}, but the model was fitted with {fitted}"
            raise ValueError(f"save: {what}; set it back or fit again.")

    def _restore(self, parameters: Any, extra: Tensors) -> None:
        """Set what else a fit sets, from what a file keeps; refuse parameters of another kind."""
        if not isinstance(parameters, FactorParameters) or parameters.factors.shape[1]:
            raise ModelFileError(f"has parameters that a {type(self).__name__} does not have")

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Score interactions.

        Parameters
        ----------
        X : Blocks, sparse matrix or dense array
            With the columns the model was fitted on.

        Returns
        -------
        array of float64, one score per interaction
        """
        check_is_fitted(self)
        blocks = self._prediction_blocks(X)
        if len(blocks) == 0:
            return np.zeros(0)
        threads = thread_count(getattr(self, "n_jobs", None))
        return np.asarray(self.parameters_.scores(blocks.design(), threads), np.float64)

    @property
    def parameters_(self) -> Parameters:
        """What the fit yielded, as one frozen value: all that an index, an explanation or a file needs of a model."""
        check_is_fitted(self)
        made, kept = self._parameters(), _parameters.get(self)
        if kept is None or any(getattr(made, field.name) is not getattr(kept, field.name) for field in fields(made)):
            kept = _parameters[self] = made
        return kept

    def _parameters(self) -> Parameters:
        nothing = np.zeros((len(self.weights_), 0), np.float32)
        return FactorParameters(self.fields_, self.bias_, self.weights_, nothing, "all")

    def _training_data(
        self, X: Any, y: Any, sample_weight: Any, fields: FieldSizes | None, *, reset: bool = True
    ) -> tuple[Blocks, Floats, Floats | None]:
        """Check everything that `fit` takes, and remember the layout of the columns."""
        if isinstance(X, Blocks):
            if fields is not None:
                raise ValueError("fields: Blocks know their fields already; give sizes with a plain matrix only.")
            if y is None:
                raise ValueError(f"{type(self).__name__} requires y to be passed, but the target y is None.")
            y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64, input_name="y"), warn=True)
            check_consistent_length(X, y)
            if len(y) == 0:
                raise ValueError("X has 0 interactions, but at least 1 is needed to fit.")
            blocks = X
        else:
            check_sizes("X", X)
            X, y = validate_data(self, X, y, reset=reset, y_numeric=True, **_MATRIX)
            blocks = Blocks.from_matrix(X, fields) if reset or fields is not None else self._like_before(X)
            y = np.asarray(y, np.float64)
        if reset:
            self.fields_, self.n_features_in_ = blocks.fields, blocks.n_features
        else:
            self._check_layout(blocks)
        if self._across() and len(blocks.blocks) < 2:
            what = "pairs='across' pairs features of different blocks, but X has only one"
            raise ValueError(f"{what}; give Blocks, or fields=.")
        if sample_weight is not None:
            sample_weight = _check_sample_weight(sample_weight, y, dtype=np.float64, ensure_non_negative=True)
        return blocks, cast(Floats, y), sample_weight

    def _prediction_blocks(self, X: Any) -> Blocks:
        if isinstance(X, Blocks):
            self._check_layout(X)
            return X
        check_sizes("X", X)
        X = validate_data(self, X, reset=False, ensure_min_samples=0, **_MATRIX)
        return Blocks.from_matrix(X, _block_sizes(self.fields_) if self._across() else None)

    def _like_before(self, X: Any) -> Blocks:
        """Take a plain matrix as the fields that the model was fitted on."""
        if len({field.block for field in self.fields_}) == len(self.fields_):
            return Blocks.from_matrix(X, {field.block: field.size for field in self.fields_})
        table = FeatureTable.of("X", X)
        fields: dict[str, dict[str, Any]] = {}
        for field in self.fields_:
            fields.setdefault(field.block, {})[field.name] = table.columns(field.start, field.stop)
        return Blocks(**{name: Block(np.arange(table.n_rows), parts) for name, parts in fields.items()})

    def _check_layout(self, blocks: Blocks) -> None:
        name = type(self).__name__
        if blocks.n_features != self.n_features_in_:
            n = f"{self.n_features_in_} features as input."
            raise ValueError(f"X has {blocks.n_features} features, but {name} is expecting {n}")
        before, now = [f.size for f in self.fields_], [f.size for f in blocks.fields]
        if len(before) > 1 and len(now) > 1 and before != now:
            advice = "give the same fields in the same order."
            raise ValueError(f"X has fields of sizes {now}, but {name} was fitted on {before}; {advice}")
        before, now = (list(_block_sizes(fields).values()) for fields in (self.fields_, blocks.fields))
        if self._across() and before != now:
            advice = "with pairs='across'; give the same blocks in the same order."
            raise ValueError(f"X has blocks of sizes {now}, but {name} was fitted on {before} {advice}")

    def _across(self) -> bool:
        """Whether only pairs from different blocks count."""
        return getattr(self, "pairs_", getattr(self, "pairs", "all")) == "across"

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _per_field(self, name: str, blocks: Blocks, default: Any = None) -> npt.NDArray[np.float64]:
        """Return λ per field of the blocks: of a number, or a mapping of block.field, block, field or default to it."""
        n, value = len(blocks.fields), default if getattr(self, name) is None else getattr(self, name)
        if not hasattr(value, "items"):
            return np.full(n, check_real(name, value))
        keys = [(f"{f.block}.{f.name}", f.block, f.name) for f in self.fields_]
        known = sorted({key for names in keys for key in names})
        if unknown := sorted(set(value) - {*known, "default"}, key=str):
            raise ValueError(f"{name}: no field is called {unknown[0]!r}; there are {known}.")
        penalties = []
        for names in keys:
            key = next((key for key in (*names, "default") if key in value), None)
            if key is None:
                raise ValueError(f"{name}: nothing for the field {names[0]}; add it or a 'default'.")
            penalties.append(check_real(name, value[key]))
        if len(penalties) != n and len(set(penalties)) > 1:  # a matrix that was split into one-hot fields
            raise ValueError(f"{name} differs between fields, but X has {n} field(s) instead of {len(penalties)}.")
        return np.array(penalties if len(penalties) == n else penalties[:1] * n)


def register_kind(kind: Kind) -> Kind:
    """Let files hold models of a class, under its name, as long as this process runs; a decorator.

    A package also declares its classes in the entry-point group ``bitfm.kinds``, as ``Name = "module:Name"``; they are
    then imported when a file of their kind is opened.
    """
    # A module that an entry point names may be importing this very class, so that entry point is not followed.
    if KINDS.get(kind.__name__, installed=False) not in (None, kind):
        raise ValueError(f"register_kind: there is another kind called {kind.__name__!r}; give the class another name.")
    KINDS.register(kind.__name__, kind)
    return kind


def check_same_features(what: str, fitted: FeatureModel, model: FeatureModel) -> None:
    """Refuse a model to learn from that was fitted on other fields than `model`."""
    theirs, ours = [f.size for f in fitted.fields_], [f.size for f in model.fields_]
    if sum(theirs) != sum(ours) or (len(theirs) > 1 and len(ours) > 1 and theirs != ours):
        raise ValueError(f"{what} was fitted on fields of sizes {theirs}, but X has {ours}; give the same fields.")


def iteration_of(item: dict[str, Any]) -> Iteration:
    """Return an item of a file's fit_log, which has null for numbers that JSON does not have."""
    try:
        iteration = msgspec.convert({k: float("nan") if v is None else v for k, v in item.items()}, Iteration)
    except msgspec.ValidationError as error:
        raise ModelFileError(f"has a malformed fit_log ({error})") from None
    if unknown := sorted(set(item) - {field.name for field in fields(Iteration)}):
        raise ModelFileError(f"has a malformed fit_log (there is no {short(unknown[0])})")
    return iteration


def _block_sizes(fields: tuple[FieldSpan, ...]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for field in fields:
        sizes[field.block] += field.size
    return sizes


def check_finite(stage: str, number: int, *values: float) -> None:
    """Refuse to go on with numbers that have overflowed."""
    if not np.isfinite(values).all():
        raise ValueError(f"{stage}: the numbers overflow in iteration {number}; scale the features or the targets.")


def counted(sample_weight: Floats | None) -> Floats | None:
    """Return the weights if any counts: an average cannot do without."""
    return sample_weight if sample_weight is not None and sample_weight.any() else None
