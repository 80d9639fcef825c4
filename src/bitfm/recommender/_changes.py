"""Rows and ratings that come after the fit. Each change makes a new state; the old one stays as it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.parameters import Ids, Ratings, TowerRows, fold_in, ids_of, with_codes, with_ids
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._state import State
from bitfm.validation import thread_count

if TYPE_CHECKING:
    import polars as pl

_IDS_A_THREAD = 8  # below, starting a thread costs more than it saves

__all__ = ["solve_rows", "with_ratings", "with_side_rows"]


def with_side_rows(state: State, name: str, ids: pl.Series, frame: pl.DataFrame) -> State:
    """Add users or items, or give known ones other values."""
    state, indices = _with_ids(state, name, ids, frame)
    return _reindexed(state, indices) if name == "item" else state


def with_ratings(
    state: State, users: pl.Series, items: pl.Series, ratings: npt.NDArray[np.float64], context: Block | None
) -> State:
    """Add ratings, and solve anew for all ids that they name, which may be new."""
    import polars as pl

    state, of_users = _with_ids(state, "user", users, pl.DataFrame())
    state, of_items = _with_ids(state, "item", items, pl.DataFrame())
    if context is not None and state.target is not None:
        ratings = ratings - _context_effect(state, of_users, of_items, context)
    of_users, of_items, ratings = _one_a_pair(of_users, of_items, ratings)
    before = state.log
    log = before.extended(of_users, of_items, ratings, (len(state.users), len(state.items)))
    touched = {"user": np.unique(of_users), "item": np.unique(of_items)}
    state = _changed(state, touched, log=log)  # what users have had tells of them, and who has had an item of it
    for name, indices in touched.items():
        grown = with_codes(state.parameters, name, indices, solve_rows(state, name, indices, before))
        state = _changed(state, {name: indices}, parameters=grown, index=state.index.with_parameters(grown))
    return _reindexed(state, touched["item"])


def solve_rows(state: State, name: str, indices: npt.NDArray[Any], before: InteractionMatrix) -> Ids:
    """Solve for the codes of some ids from their ratings in the log; they know of those in the log before."""
    own = state.rows(name, indices)
    seen = state.log.side(name).take(indices)
    others, place = np.unique(seen.indices, return_inverse=True)
    ratings = Ratings(
        seen.indptr,
        place.astype(np.int32),
        seen.values.astype(np.float64),
        _values_in(before.side(name).take(indices), seen),
        *state.other_side(name, others),
    )
    known = ids_of(state.parameters, name, indices)
    threads = min(thread_count(state.n_jobs), 1 + len(indices) // _IDS_A_THREAD)
    return fold_in(ratings, own.constants, own.vectors, state.moments[name], state.priors[name], known, threads)


def _one_a_pair(
    users: npt.NDArray[Any], items: npt.NDArray[Any], ratings: npt.NDArray[np.float64]
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float64]]:
    """Return the mean of what is given for each pair, as in a log."""
    shape = int(users.max(initial=-1)) + 1, int(items.max(initial=-1)) + 1
    pairs = InteractionMatrix.of(users, items, ratings, shape).by_user
    rows = np.repeat(np.arange(len(pairs), dtype=np.int32), np.diff(pairs.indptr))
    return rows, pairs.indices, pairs.values.astype(np.float64)


def _values_in(table: FeatureTable, entries: FeatureTable) -> npt.NDArray[np.float64]:
    """Return the values that a table has where another has entries, NaN where it has none."""
    keys, needed = _keys(table), _keys(entries)
    order = np.argsort(keys)
    at = np.searchsorted(keys, needed, sorter=order)
    there = np.isin(needed, keys)
    values = np.full(len(needed), np.nan)
    values[there] = table.values[order[at[there]]]
    return values


def _keys(table: FeatureTable) -> npt.NDArray[np.int64]:
    rows = np.repeat(np.arange(table.n_rows, dtype=np.int64), np.diff(table.indptr))
    return rows * table.n_columns + table.indices


def _with_ids(state: State, name: str, ids: pl.Series, frame: pl.DataFrame) -> tuple[State, npt.NDArray[np.int32]]:
    """Make room for ids; rows of the frame, if it has any, are theirs."""
    import polars as pl

    if frame.is_empty():
        distinct = ids.unique(maintain_order=True)
        side, _ = state.side(name).with_rows(distinct, pl.DataFrame())
        indices = side.ids.indices(ids)
    else:
        side, indices = state.side(name).with_rows(ids, frame)
    users, items = (side, state.items) if name == "user" else (state.users, side)
    nothing = np.zeros(0, np.int32)
    log: InteractionMatrix = state.log.extended(nothing, nothing, nothing, (len(users), len(items)))
    grown = with_ids(state.parameters, {"user": len(users), "item": len(items)})
    index = state.index.with_parameters(grown)
    touched = {name: np.unique(indices)}
    state = _changed(state, touched, users=users, items=items, log=log, parameters=grown, index=index)
    if index.n_positions < len(items):
        new = np.arange(index.n_positions, len(items))
        index.add(Block(np.arange(len(new)), state.tables("item", new)))
    return state, indices


def _reindexed(state: State, items: npt.NDArray[Any]) -> State:
    """Return a state whose index has the items as they are now."""
    index = state.index.with_parameters(state.parameters)
    index.change(items, Block(np.arange(len(items)), state.tables("item", items)))
    return _changed(state, {}, index=index)


def _changed(state: State, touched: Mapping[str, npt.NDArray[Any]], **changes: Any) -> State:
    """Return another state; rows of whole sides, where they are known, are put right where they are touched."""
    new = replace(state, **changes)
    for name, rows in state.whole_sides.items():
        size = len(new.side(name))
        constants, vectors = (np.resize(a, (size, *a.shape[1:])) for a in (rows.constants, rows.vectors))
        if len(touched.get(name, ())):
            changed = new.rows(name, touched[name])
            constants[touched[name]], vectors[touched[name]] = changed.constants, changed.vectors
        new.whole_sides[name] = TowerRows.of_vectors(constants, vectors)
    return new


def _context_effect(
    state: State, users: npt.NDArray[np.int32], items: npt.NDArray[np.int32], context: Block
) -> npt.NDArray[np.float64]:
    """Return what the contexts add to the scores."""
    return state.scores(users, items, context) - state.scores(users, items, None)
