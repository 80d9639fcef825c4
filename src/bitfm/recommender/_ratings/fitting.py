"""From tables of ratings to a fitted state."""

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
from bitfm.models import Callback, DiscreteFM, DistilledFM
from bitfm.parameters import Prior, SideMoments, ids_of, prior_variance, with_all_ids
from bitfm.recommender._heavy_users import counted
from bitfm.recommender._inputs import contexts_of
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._parts import settings_of_model, shared_parts
from bitfm.recommender._ratings.state import RatingState
from bitfm.recommender._reading import Tables, pairs_of
from bitfm.recommender._side import CONTEXT, SEEN_FIELDS, Side, encode, field_tables
from bitfm.retrieval import Index

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["fit_ratings", "rating_data"]

Indices: TypeAlias = Mapping[str, npt.NDArray[Any]]  # of users and of items
TrainingData: TypeAlias = tuple[Blocks, npt.NDArray[np.float64]]

_BITS = 64


def fit_ratings(settings: Recommender, tables: Tables, callback: Callback | None) -> tuple[RatingState, TrainingData]:
    """Fit the model; return what was learnt, and what the model has learnt it from."""
    read, sides, context, pairs = tables.read, tables.sides, tables.context, tables.pairs
    model = _model_to_fit(settings)
    count = counted(pairs["user"], pairs["item"])
    observed = {name: np.unique(indices[count]) for name, indices in pairs.items()}  # nothing is learnt of others
    widths = {"user": len(observed["item"])} if settings.history else {}
    widths |= {"item": len(observed["user"])} if settings.raters else {}
    blocks, y = _examples(sides, tables.contexts, read, pairs, count, observed, widths)
    model.fit(blocks, y, callback=callback)
    scores = model.predict(blocks)

    ratings = read.target
    assert ratings is not None
    if context:
        unknown, ratings = Block(np.zeros(len(y), np.int32), encode(context, {})), ratings.copy()
        ratings[count] = y - (scores - model.predict(Blocks(**{**blocks.blocks, CONTEXT: unknown})))
    n_users, n_items = shape = len(sides["user"]), len(sides["item"])
    log = learnt = InteractionMatrix.of(pairs["user"], pairs["item"], shape, ratings)
    if not count.all():
        learnt = InteractionMatrix.of(pairs["user"][count], pairs["item"][count], shape)
    parameters = with_all_ids(model.parameters_, observed, {"user": n_users, "item": n_items}, SEEN_FIELDS)
    everything, width = np.arange(n_items), parameters.sizes.get(("item", SEEN_FIELDS["item"]))
    own = sides["item"].fields(everything)
    catalogue = Block(everything, field_tables("item", own, log.by_item, width, FeatureTable.eye(n_items)))
    state = RatingState(
        users=sides["user"],
        **shared_parts(settings, tables, model),
        log=log,
        parameters=parameters,
        index=Index(parameters, catalogue, "item"),
    )
    state = replace(state, moments=_moments(state, learnt))
    return replace(state, priors=_priors(state, learnt, float(np.mean((y - scores) ** 2)))), (blocks, y)


def rating_data(state: RatingState, interactions: Interactions) -> TrainingData:
    """Return ratings as a model with the state's fields would learn from them."""
    sides = {name: state.side(name) for name in SEEN_FIELDS}
    ids = {name: np.arange(len(side)) for name, side in sides.items()}
    widths = {name: state.sizes[name, seen] for name, seen in SEEN_FIELDS.items() if (name, seen) in state.sizes}
    contexts, pairs = contexts_of(state, interactions), pairs_of(sides, interactions)
    return _examples(sides, contexts, interactions, pairs, counted(pairs["user"], pairs["item"]), ids, widths)


def _model_to_fit(settings: Recommender) -> DistilledFM | DiscreteFM:
    model: Any = settings.model
    if model is None:
        model = DistilledFM(**settings_of_model(settings, _BITS))
    elif not isinstance(model, DistilledFM | DiscreteFM):
        raise TypeError(f"model must be a DistilledFM, a DiscreteFM or None for ratings, got {type(model).__name__}.")
    found: DistilledFM | DiscreteFM = clone(model)
    found.pairs = "across"
    return found


def _examples(
    sides: Mapping[str, Side],
    contexts: Block | None,
    interactions: Interactions,
    pairs: Indices,
    count: npt.NDArray[np.bool_],
    ids: Indices,
    widths: Mapping[str, int],
) -> TrainingData:
    """Return blocks and targets of the interactions that count.

    Rows and columns of users and items are those of `ids`; `widths` are those of what a side has seen, if it has a
    field for it.
    """
    users, items = (np.searchsorted(ids[name], pairs[name][count]).astype(np.int32) for name in SEEN_FIELDS)
    log = InteractionMatrix.of(users, items, (len(ids["user"]), len(ids["item"])))
    assert interactions.target is not None
    blocks = {}
    for name, rows in (("user", users), ("item", items)):
        own, eye, width = sides[name].fields(ids[name]), FeatureTable.eye(len(ids[name])), widths.get(name)
        tables = field_tables(name, own, None if width is None else log.side(name), width, eye)
        blocks[name] = Block(rows, tables)
        if name == "user" and contexts is not None:  # users and context, which queries are made of, come first
            blocks[CONTEXT] = Block(contexts.rows[count], contexts.tables)
    return Blocks(**blocks), interactions.target[count]


def _moments(state: RatingState, learnt: InteractionMatrix) -> dict[str, SideMoments]:
    """Return either side as a new id of the other sees it, by the name of the new id's side."""
    found = {}
    for name, other in (("user", "item"), ("item", "user")):
        counts = np.diff(learnt.side(other).indptr)
        some = np.flatnonzero(counts)
        found[name] = SideMoments.of(*state.other_side(name, some), counts[some])
    return found


def _priors(state: RatingState, learnt: InteractionMatrix, noise: float) -> dict[str, Prior]:
    """Return what the ids of either side are like that were learnt from ratings."""
    priors = {}
    for name, others in state.moments.items():
        counts = np.diff(learnt.side(name).indptr)
        observed = np.flatnonzero(counts)
        weights, vectors = ids_of(state.parameters, name, observed)
        n = counts[observed]
        an_entry = float(np.trace(others.hessian)) / vectors.shape[1]
        priors[name] = Prior(
            noise,
            prior_variance(float(np.mean(weights**2)), noise / n),
            prior_variance(float(np.mean(vectors**2)), noise / np.maximum(n * an_entry, 1e-12)),
        )
    return priors
