"""Users, items and ratings that are taken out. Each removal makes a new state; the old one stays as it was."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.parameters import Ids, TowerRows, only_features, with_codes
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._ratings.changes import changed, reindexed, solved_ids
from bitfm.recommender._removal import rest_of, without_reasons
from bitfm.recommender._side import CONTEXT, SEEN_FIELDS

if TYPE_CHECKING:
    from bitfm.recommender._ratings.state import RatingState

__all__ = ["without_ids", "without_ratings"]


def without_ids(state: RatingState, name: str, gone: npt.NDArray[Any]) -> RatingState:
    """Take users or items out: their rows, their features and their ratings."""
    other = "item" if name == "user" else "user"
    met = np.unique(state.log.side(name).take(gone).indices)
    rest = rest_of(state, name, gone)
    kept = rest.kept
    features = {**rest.features, (name, "id"): kept}
    seen = other, SEEN_FIELDS[other]
    if seen in state.sizes:
        features[seen] = kept[kept < state.sizes[seen]]  # those who came later have no column
    parameters = only_features(state.parameters, features)
    index = state.index.only(kept, parameters) if name == "item" else state.index.with_parameters(parameters)
    new = replace(state, **rest.parts, parameters=parameters, index=index, whole_sides={})
    for side, rows in state.whole_sides.items():
        left = TowerRows.of_vectors(rows.constants[kept], rows.vectors[kept]) if side == name else rows
        new.whole_sides[side] = left
    new = changed(new, {other: met})  # in their histories, or among their raters
    return _reindexed(new, met) if name == "user" and seen in state.sizes else new


def without_ratings(state: RatingState, users: npt.NDArray[Any], items: npt.NDArray[Any]) -> RatingState:
    """Take ratings out, and solve anew for all ids that they name: as for new ones that have the other ratings."""
    touched = {"user": np.unique(users), "item": np.unique(items)}
    notes = without_reasons(state.columns, CONTEXT, state.context)
    state = changed(state, touched, log=state.log.without(users, items), columns=notes)
    nobody = InteractionMatrix(FeatureTable.empty(*state.log.by_user.shape))
    for name, indices in touched.items():
        n, n_bytes = len(indices), state.parameters.codes.shape[1]
        nothing = Ids(np.zeros((n, n_bytes), np.uint8), np.zeros(n, np.float32), np.zeros(n))
        state = _with_codes(state, name, indices, nothing)
        state = _with_codes(state, name, indices, solved_ids(state, name, indices, nobody))
    return _reindexed(state, touched["item"])


def _with_codes(state: RatingState, name: str, indices: npt.NDArray[Any], ids: Ids) -> RatingState:
    return changed(state, {name: indices}, parameters=with_codes(state.parameters, name, indices, ids))


def _reindexed(state: RatingState, items: npt.NDArray[Any]) -> RatingState:
    """Return a state whose index has the items as they are now, and nothing of what they were."""
    if not len(items):
        return state
    state = reindexed(state, items)
    return changed(state, {}, index=state.index.only(np.arange(len(state.items)), state.parameters))
