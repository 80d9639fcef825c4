"""From tables of events to a fitted state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.data.interactions import Interactions
from bitfm.data.vocabulary import Vocabulary
from bitfm.models import Callback, ImplicitFM
from bitfm.recommender._events.kinds import MOST_KINDS, EventKinds
from bitfm.recommender._events.state import EventState
from bitfm.recommender._events.strengths import Strengths
from bitfm.recommender._heavy_users import counted
from bitfm.recommender._inputs import contexts_of
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._parts import settings_of_model, shared_parts
from bitfm.recommender._reading import Tables, pairs_of
from bitfm.recommender._side import CONTEXT, Side
from bitfm.retrieval import Index

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["event_data", "fit_events"]

_BITS = 256
TrainingData: TypeAlias = tuple[Blocks, npt.NDArray[np.float64]]


def fit_events(settings: Recommender, tables: Tables, callback: Callback | None) -> tuple[EventState, TrainingData]:
    """Fit the model; return what was learnt, and what the model has learnt it from."""
    read, sides, pairs = tables.read, tables.sides, tables.pairs
    strengths = Strengths.of(settings, read)
    values = strengths.values(read, "interactions")
    model = _model_to_fit(settings)
    count = counted(pairs["user"], pairs["item"])
    blocks = _blocks(sides, tables.contexts, pairs, count)
    model.fit(blocks, values[count], callback=callback)
    kept = settings.keep_interactions
    users, shape = sides["user"], (len(sides["user"]), len(sides["item"]))
    log = InteractionMatrix.summed(pairs["user"], pairs["item"], shape, values)
    if not kept:
        users, log = without_rows(users), InteractionMatrix(FeatureTable.empty(0, shape[1]))
    names = sorted(strengths.by_kind or ())
    kinds = None
    if kept and 0 < len(names) <= MOST_KINDS:
        kinds = EventKinds.of(names, log, EventKinds.table(names, read.kinds, pairs["user"], pairs["item"], shape))
    parameters = model.parameters_
    state = EventState(
        users=users,
        **shared_parts(settings, tables, model),
        log=log,
        parameters=parameters,
        index=Index(parameters),
        strengths=strengths,
        keeps_users=kept,
        kinds=kinds,
    )
    return state, (blocks, values[count])


def event_data(state: EventState, interactions: Interactions) -> TrainingData:
    """Return events as a model with the state's fields would learn from them."""
    state.need_users("training_data")
    sides = {"user": state.users, "item": state.items}
    pairs = pairs_of(sides, interactions)
    count = counted(pairs["user"], pairs["item"])
    blocks = _blocks(sides, contexts_of(state, interactions), pairs, count)
    return blocks, state.strengths.values(interactions, "interactions")[count]


def without_rows(side: Side) -> Side:
    """Return a side with its columns, but none of its rows."""
    nobody = Vocabulary.of(side.ids.take(np.zeros(0, np.int64)))
    return replace(side, ids=nobody, tables=tuple(table.take(np.zeros(0, np.int64)) for table in side.tables))


def _model_to_fit(settings: Recommender) -> ImplicitFM:
    model: Any = settings.model
    if model is None:
        return ImplicitFM(**settings_of_model(settings, _BITS))
    if not isinstance(model, ImplicitFM):
        raise TypeError(f"model must be an ImplicitFM or None for events, got {type(model).__name__}.")
    found: ImplicitFM = clone(model)
    return found


def _blocks(
    sides: Mapping[str, Side],
    contexts: Block | None,
    pairs: Mapping[str, npt.NDArray[Any]],
    count: npt.NDArray[np.bool_],
) -> Blocks:
    """Return the events that count."""
    blocks = {}
    for name in ("user", "item"):
        everything = np.arange(len(sides[name]))
        ids = {"history" if name == "user" else "id": FeatureTable.eye(len(everything))}
        blocks[name] = Block(pairs[name][count], {**sides[name].fields(everything), **ids})
        if name == "user" and contexts is not None:
            blocks[CONTEXT] = Block(contexts.rows[count], contexts.tables)
    return Blocks(**blocks)
