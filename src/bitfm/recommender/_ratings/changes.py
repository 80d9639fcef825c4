"""Rows and ratings that come after the fit. Each change makes a new state; the old one stays as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block
from bitfm.data.feature_table import FeatureTable
from bitfm.parameters import Ids, Ratings, TowerRows, fold_in, ids_of, with_codes, with_ids
from bitfm.recommender._matrix import InteractionMatrix, values_at
from bitfm.validation import thread_count

if TYPE_CHECKING:
    import polars as pl

    from bitfm.recommender._ratings.state import RatingState

_IDS_PER_THREAD = 8  # below, starting a thread costs more than it saves

__all__ = ["changed", "reindexed", "solved_ids", "with_ratings", "with_side_rows"]


def with_side_rows(state: RatingState, name: str, ids: pl.Series, frame: pl.DataFrame) -> RatingState:
    """Add users or items, or give known ones other values."""
    state = _with_ids(state, name, ids, frame)
    return reindexed(state, state.items.ids.indices(ids)) if name == "item" else state


def with_ratings(
    state: RatingState,
    users: pl.Series,
    items: pl.Series,
    ratings: npt.NDArray[np.float64],
    context: Block | None,
    solved_sides: Sequence[str] = ("user", "item"),
) -> RatingState:
    """Add ratings and solve anew for all ids that they name, which may be new; a side that is not named stays."""
    import polars as pl

    for name, ids in (("user", users), ("item", items)):
        state = _with_ids(state, name, ids, pl.DataFrame())
    pairs = state.users.ids.indices(users), state.items.ids.indices(items)
    if context is not None:  # the log is without what contexts add
        ratings = ratings - (state.scores(*pairs, context) - state.scores(*pairs, None))
    before = state.log
    more = InteractionMatrix.of(*pairs, before.by_user.shape, ratings)
    touched = {name: np.flatnonzero(np.diff(more.side(name).indptr)) for name in solved_sides}
    log = before.extended(more)
    if "item" not in solved_sides:
        log.__dict__["by_item"] = before.by_item
    # What users have had tells of them, and who has had an item of it.
    state = changed(state, touched, log=log)
    for name, indices in touched.items():
        solved = with_codes(state.parameters, name, indices, solved_ids(state, name, indices, before))
        state = changed(state, {name: indices}, parameters=solved)
    return reindexed(state, touched.get("item", np.zeros(0, np.intp)))


def solved_ids(state: RatingState, name: str, indices: npt.NDArray[Any], before: InteractionMatrix) -> Ids:
    """Solve for the codes of some ids from their ratings in the log; they know of those in the log before."""
    own = state.rows(name, indices)
    seen = state.log.side(name).take(indices)
    others, place = np.unique(seen.indices, return_inverse=True)
    ratings = Ratings(
        seen.indptr,
        place.astype(np.int32),
        seen.values.astype(np.float64),
        values_at(before.side(name).take(indices), seen, np.nan).astype(np.float64),
        *state.other_side(name, others),
    )
    known = ids_of(state.parameters, name, indices)
    threads = min(thread_count(state.n_jobs), 1 + len(indices) // _IDS_PER_THREAD)
    return fold_in(ratings, own.constants, own.vectors, state.moments[name], state.priors[name], known, threads)


def _with_ids(state: RatingState, name: str, ids: pl.Series, frame: pl.DataFrame) -> RatingState:
    """Make room for ids; the columns of the frame, if it has any, are theirs, which must then be distinct."""
    side = state.side(name).with_rows(ids, frame)
    users, items = (side, state.items) if name == "user" else (state.users, side)
    log = state.log.extended(InteractionMatrix(FeatureTable.empty(len(users), len(items))))
    grown = with_ids(state.parameters, {"user": len(users), "item": len(items)})
    index = state.index.with_parameters(grown)
    touched = {name: np.unique(side.ids.indices(ids))}
    state = changed(state, touched, users=users, items=items, log=log, parameters=grown, index=index)
    if index.n_positions < len(items):
        new = np.arange(index.n_positions, len(items))
        index.add(Block(np.arange(len(new)), state.tables("item", new)))
    return state


def reindexed(state: RatingState, items: npt.NDArray[Any]) -> RatingState:
    """Return a state whose index has the items as they are now."""
    index = state.index.with_parameters(state.parameters)
    index.change(items, Block(np.arange(len(items)), state.tables("item", items)))
    return changed(state, {}, index=index)


def changed(state: RatingState, touched: Mapping[str, npt.NDArray[Any]], **changes: Any) -> RatingState:
    """Return another state; rows of whole sides, where they are known, are put right where they are touched."""
    new = replace(state, whole_sides={}, **changes)
    for name, rows in state.whole_sides.items():
        size = len(new.side(name))
        constants, vectors = (np.resize(a, (size, *a.shape[1:])) for a in (rows.constants, rows.vectors))
        if len(touched.get(name, ())):
            changed = new.rows(name, touched[name])
            constants[touched[name]], vectors[touched[name]] = changed.constants, changed.vectors
        new.whole_sides[name] = TowerRows.of_vectors(constants, vectors)
    return new
