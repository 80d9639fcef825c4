"""Items that come after a fit to events, or have more events than at the fit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import eigh, multiply
from bitfm.data.blocks import FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.parameters.encoding import Encoding
from bitfm.parameters.event_fold_in import fold_in_events
from bitfm.parameters.implicit import HISTORY, ID, ImplicitParameters
from bitfm.parameters.item_codes import bits_of_dimensions

__all__ = ["with_event_items"]

Vectors = npt.NDArray[np.float32]


def with_event_items(
    parameters: ImplicitParameters,
    which: npt.NDArray[Any],
    tables: Mapping[str, FeatureTable],
    events: FeatureTable,
    users: Vectors,
    n_threads: int = 1,
) -> ImplicitParameters:
    """Give some items codes by their features and their events; those beyond the last are new.

    Parameters
    ----------
    which : array of int
        The items, each once.
    tables : mapping of field to FeatureTable
        Their features.
    events : FeatureTable, items × users
    users : array of float32
        The vectors of these users.
    """
    with parameters.naming_file():
        return _with_event_items(parameters, which, tables, events, users, n_threads)


def _with_event_items(
    parameters: ImplicitParameters,
    which: npt.NDArray[Any],
    tables: Mapping[str, FeatureTable],
    events: FeatureTable,
    users: Vectors,
    n_threads: int,
) -> ImplicitParameters:
    weights, side = parameters.weights, parameters.users
    said = parameters.said(parameters.fields[-1].block, tables, n_threads)
    priors = np.zeros((len(which), parameters.items.rank), np.float32) if said is None else said
    sizes, axes = eigh(side.gram)
    turn = np.ascontiguousarray(axes, np.float32)
    solved = fold_in_events(
        events,
        multiply(users, turn, n_threads),
        np.maximum(sizes, 0),
        weights,
        side.n,
        multiply(priors, turn, n_threads),
        n_threads,
    )
    vectors = multiply(solved, np.ascontiguousarray(turn.T), n_threads)
    indptr, _, values = events.arrays()
    rows = np.repeat(np.arange(len(events)), np.diff(indptr))
    counts = np.bincount(rows, np.abs(values), len(events)).astype(np.float32)
    encoding = Encoding(
        events,
        users,
        vectors,
        weights.unobserved * side.gram,
        weights.ridge(counts, side.n),
        bits_of_dimensions(parameters.bits, parameters.items.rank),
        n_threads,
    )
    codes = encoding.start(parameters.items.decoder)
    encoding.improve(parameters.items.decoder, codes)
    items = parameters.items.with_items(which, codes.levels, codes.gains, codes.weights)
    neighbors = (
        parameters.neighbors if len(items) == len(parameters.items) else parameters.neighbors.with_items(len(items))
    )
    return replace(parameters, fields=_resized(parameters.fields, len(items)), items=items, neighbors=neighbors)


def _resized(fields: tuple[FieldSpan, ...], n_items: int) -> tuple[FieldSpan, ...]:
    found, start = [], 0
    for field in fields:
        of_items = (field.block, field.name) in ((fields[0].block, HISTORY), (fields[-1].block, ID))
        size = n_items if of_items else field.size
        found.append(FieldSpan(field.block, field.name, start, start + size))
        start += size
    return tuple(found)
