"""Parameters without some of their features, of which nothing is left; all others stay as they were learnt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import FieldSpan
from bitfm.parameters.feature_vectors import FeatureVectors
from bitfm.parameters.implicit import HISTORY, ID, ImplicitParameters, feature_fields
from bitfm.parameters.parameters import CodeParameters

__all__ = ["only_event_features", "only_features"]

# By block and field, which of its features stay, in rising order; of a field that is not named all do.
Kept: TypeAlias = Mapping[tuple[str, str], npt.NDArray[Any]]


def only_features(parameters: CodeParameters, kept: Kept) -> CodeParameters:
    """Return parameters in which some fields have fewer features.

    Parameters
    ----------
    parameters : CodeParameters
    kept : mapping of block and field to array of int
        Which features of the field stay, in rising order; of a field that is not named all do.

    Examples
    --------
    >>> from bitfm.data import FieldSpan
    >>> fields = (FieldSpan("user", "id", 0, 2), FieldSpan("item", "id", 2, 5))
    >>> codes, gains = np.zeros((5, 1), np.uint8), np.array([1, 2, 3, 4, 5], np.float32)
    >>> parameters = CodeParameters(fields, 3.5, np.zeros(5, np.float32), codes, gains, "across")
    >>> less = only_features(parameters, {("item", "id"): np.array([0, 2])})
    >>> less.gains, less.fields[1].size
    (array([1., 2., 3., 5.], dtype=float32), 2)
    """
    at = _places(parameters.fields, kept)
    return replace(
        parameters,
        fields=_shrunk(parameters.fields, kept),
        weights=parameters.weights[at],
        codes=parameters.codes[at],
        gains=parameters.gains[at],
    )


def only_event_features(
    parameters: ImplicitParameters, kept: Kept, items: npt.NDArray[Any] | None = None
) -> ImplicitParameters:
    """Return parameters in which some fields of columns have fewer features, and with some of the items.

    The Gram matrices and the number of observed items stay: users are folded in among all that the fit has seen, so
    nothing changes for those who have had none of the removed items.
    """
    fields = parameters.fields
    at = _places(feature_fields(fields), kept)
    vectors = parameters.features
    parameters = replace(parameters, features=FeatureVectors(vectors.values[at], vectors.scales[at]))
    if items is not None:
        own = dict.fromkeys(((fields[0].block, HISTORY), (fields[-1].block, ID)), items)
        with parameters.naming_file():
            neighbors = parameters.neighbors.only(items)
        parameters = replace(parameters, items=parameters.items.only(items), neighbors=neighbors)
        kept = {**kept, **own}
    return replace(parameters, fields=_shrunk(fields, kept))


def _places(fields: Iterable[FieldSpan], kept: Kept) -> npt.NDArray[np.intp]:
    """Return which features of the fields, counted from 0, stay."""
    places, start = [np.zeros(0, np.intp)], 0
    for field in fields:
        places.append(start + kept.get((field.block, field.name), np.arange(field.size)))
        start += field.size
    return np.concatenate(places)


def _shrunk(fields: tuple[FieldSpan, ...], kept: Kept) -> tuple[FieldSpan, ...]:
    found, start = [], 0
    for field in fields:
        size = len(kept.get((field.block, field.name), range(field.size)))
        found.append(FieldSpan(field.block, field.name, start, start + size))
        start += size
    return tuple(found)
