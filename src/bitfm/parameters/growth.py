"""Parameters with more ids, or with other codes for some of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import FieldSpan
from bitfm.parameters.fold_in import Ids
from bitfm.parameters.parameters import CodeParameters, FactorParameters

__all__ = ["ids_of", "with_all_ids", "with_codes", "with_ids", "without_fields"]


def with_ids(parameters: CodeParameters, sizes: Mapping[str, int]) -> CodeParameters:
    """Return parameters whose field ``id`` of each block named has so many features; new ones add nothing yet."""
    there = {field.block: np.arange(field.size) for field in parameters.fields if field.name == "id"}
    return with_all_ids(parameters, there, sizes, {})


P = TypeVar("P", CodeParameters, FactorParameters)


def with_all_ids(
    parameters: P, observed: Mapping[str, npt.NDArray[Any]], sizes: Mapping[str, int], seen: Mapping[str, str]
) -> P:
    """Widen parameters that were fitted to the observed ids so that every id has a column; a new one adds nothing.

    By block, `observed` are the indices of the observed ids, and `sizes` the numbers of all; `seen` is the field whose
    columns are the ids of the other block.
    """
    if all(len(observed[block]) == size for block, size in sizes.items()):
        return parameters
    fields, places, start = [], [], 0
    for field in parameters.fields:
        whose = field.block if field.name == "id" else ""
        if seen.get(field.block) == field.name:
            whose = next(block for block in sizes if block != field.block)
        there, size = observed.get(whose, np.arange(field.size)), sizes.get(whose, field.size)
        places.append(there + start)
        fields.append(FieldSpan(field.block, field.name, start, start + size))
        start += size
    at = np.concatenate(places)
    names = ("weights", "codes", "gains") if isinstance(parameters, CodeParameters) else ("weights", "factors")
    arrays: dict[str, Any] = {}
    for name in names:
        given: npt.NDArray[Any] = getattr(parameters, name)
        arrays[name] = np.zeros((start, *given.shape[1:]), given.dtype)
        arrays[name][at] = given
    return replace(parameters, fields=tuple(fields), **arrays)


def with_codes(parameters: CodeParameters, block: str, rows: npt.NDArray[Any], ids: Ids) -> CodeParameters:
    """Return parameters in which some ids of a block have other codes, gains and weights."""
    at = _features(parameters, block, rows)
    codes, gains, weights = (np.array(a) for a in (parameters.codes, parameters.gains, parameters.weights))
    codes[at], gains[at], weights[at] = ids
    return replace(parameters, codes=codes, gains=gains, weights=weights)


def ids_of(
    parameters: CodeParameters, block: str, rows: npt.NDArray[Any]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """Return the weights and the vectors, gain × code, of some ids of a block."""
    at = _features(parameters, block, rows)
    return parameters.weights[at], parameters.vectors(at)


def _features(parameters: CodeParameters, block: str, rows: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    first = next(f.start for f in parameters.fields if f.block == block and f.name == "id")
    return np.asarray(rows, np.int64) + first


def without_fields(parameters: CodeParameters, names: Sequence[str]) -> CodeParameters:
    """Return parameters in which some fields, such as ``"user.history"``, or whole blocks add nothing."""
    gains, weights = np.array(parameters.gains), np.array(parameters.weights)
    for name in names:
        meant = [f for f in parameters.fields if name in (f.block, f"{f.block}.{f.name}")]
        if not meant:
            known = ", ".join(f"{f.block}.{f.name}" for f in parameters.fields)
            raise ValueError(f"without: there is no field {name!r}; the fields are {known}.")
        for field in meant:
            gains[field.start : field.stop] = 0
            weights[field.start : field.stop] = 0
    return replace(parameters, gains=gains, weights=weights)
