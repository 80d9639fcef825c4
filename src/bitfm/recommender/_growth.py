"""A model with more ids, or with other codes for some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bitfm.data.blocks import FieldSpan
from bitfm.models import CodeModel
from bitfm.recommender._fold_in import Ids

__all__ = ["ids_of", "with_all_ids", "with_codes", "with_ids", "without_fields"]


def with_ids(model: CodeModel, sizes: Mapping[str, int]) -> CodeModel:
    """Return a model whose field ``id`` of each block named has so many features; new ones say nothing yet."""
    spans = model.fields_
    more = [max(sizes.get(f.block, 0) - f.size, 0) if f.name == "id" else 0 for f in spans]
    if not any(more):
        return model
    ends = np.repeat([f.stop for f in spans], more)
    fields, start = [], 0
    for field, extra in zip(spans, more, strict=True):
        fields.append(FieldSpan(field.block, field.name, start, start + field.size + extra))
        start = fields[-1].stop
    arrays = (np.insert(np.asarray(a), ends, 0, axis=0) for a in (model.codes_, model.gains_, model.weights_))
    return _like(model, tuple(fields), *arrays)


def with_all_ids(
    model: CodeModel, met: Mapping[str, npt.NDArray[Any]], sizes: Mapping[str, int], seen: Mapping[str, str]
) -> CodeModel:
    """Return a model that was fitted to those who were met with columns for everybody; what is new says nothing.

    Parameters
    ----------
    model
        Its fields of ids, and of what was seen, have a column for each that was met.
    met
        The numbers of those who were met, by block.
    sizes
        How many there are in all, by block.
    seen
        The field, by block, whose columns are the ids of the other block.
    """
    if all(len(met[block]) == size for block, size in sizes.items()):
        return model
    fields, places, start = [], [], 0
    for field in model.fields_:
        whose = field.block if field.name == "id" else ""
        if seen.get(field.block) == field.name:
            whose = next(block for block in sizes if block != field.block)
        there, size = met.get(whose, np.arange(field.size)), sizes.get(whose, field.size)
        places.append(there + start)
        fields.append(FieldSpan(field.block, field.name, start, start + size))
        start += size
    at = np.concatenate(places)
    arrays = []
    for given in (model.codes_, model.gains_, model.weights_):
        wide = np.zeros((start, *given.shape[1:]), given.dtype)
        wide[at] = given
        arrays.append(wide)
    return _like(model, tuple(fields), *arrays)


def with_codes(model: CodeModel, block: str, numbers: npt.NDArray[Any], ids: Ids) -> CodeModel:
    """Return a model in which some ids of a block have other codes, gains and weights."""
    at = _features(model, block, numbers)
    codes, gains, weights = (np.array(a) for a in (model.codes_, model.gains_, model.weights_))
    codes[at], gains[at], weights[at] = ids
    return _like(model, model.fields_, codes, gains, weights)


def _like(model: CodeModel, fields: tuple[FieldSpan, ...], codes: Any, gains: Any, weights: Any) -> CodeModel:
    other: CodeModel = clone(model)
    other.codes_, other.gains_, other.weights_ = codes, gains, weights
    other.fields_, other.n_features_in_ = fields, fields[-1].stop
    other.bias_, other.pairs_ = model.bias_, model.pairs_
    other.fit_log_, other.n_iter_ = model.fit_log_, model.n_iter_
    return other


def ids_of(model: CodeModel, block: str, numbers: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """Return the weights and the vectors, gain × code, of some ids of a block."""
    at = _features(model, block, numbers)
    return model.weights_[at], model._factors_of(at)


def _features(model: CodeModel, block: str, numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    first = next(f.start for f in model.fields_ if f.block == block and f.name == "id")
    return np.asarray(numbers, np.int64) + first


def without_fields(model: CodeModel, names: Sequence[str]) -> CodeModel:
    """Return a model for which some fields, such as ``"user.history"``, or whole blocks say nothing."""
    gains, weights = np.array(model.gains_), np.array(model.weights_)
    for name in names:
        meant = [f for f in model.fields_ if name in (f.block, f"{f.block}.{f.name}")]
        if not meant:
            known = ", ".join(f"{f.block}.{f.name}" for f in model.fields_)
            raise ValueError(f"without: there is no field {name!r}; the fields are {known}.")
        for field in meant:
            gains[field.start : field.stop] = 0
            weights[field.start : field.stop] = 0
    return _like(model, model.fields_, model.codes_, gains, weights)
