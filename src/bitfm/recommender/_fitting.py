"""From tables to a fitted state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.data.interactions import Interactions
from bitfm.errors import UnknownIdError
from bitfm.models import FM, Callback, DiscreteFM, DistilledFM
from bitfm.parameters import Prior, SideMoments, ids_of, prior_variance, with_all_ids
from bitfm.recommender._events import FOLDS, Examples, event_examples
from bitfm.recommender._heavy_users import counted
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._reading import SideReader
from bitfm.recommender._side import CONTEXT, SEEN_FIELDS, Side, context_block, encode, field_tables
from bitfm.recommender._state import State
from bitfm.recommender.user_towers import USER_TOWERS
from bitfm.retrieval import Index
from bitfm.validation import check_choice, check_integer

if TYPE_CHECKING:
    from bitfm.data import FittedColumn
    from bitfm.recommender.recommender import Recommender

__all__ = ["fit_state", "training_data"]

Indices: TypeAlias = Mapping[str, npt.NDArray[Any]]  # of users and of items
TrainingData: TypeAlias = tuple[Blocks, npt.NDArray[np.float64]]

# Of events. Draws from a posterior, which are the best teachers of ratings, take 0 and 1 for exact and memorise which
# items happened to be drawn. A ridge does not.
_TEACHER = FM(64, n_iter=15, tol=0, regularization=15.0, linear_regularization=10.0)
_ANCHOR_STRENGTH = 1.0  # λ: events themselves count for more than ratings do


def fit_state(
    settings: Recommender, given: Interactions, users: Any, items: Any, title: str | None, callback: Callback | None
) -> tuple[State, TrainingData]:
    """Read the tables and fit the model; return what was learnt, and what the model has learnt it from."""
    read, roles = given.latest(), given.roles
    reader = SideReader(settings.kinds or {})
    sides = {
        "user": reader.read("user", users, roles.user, read.users, read.integer_ids[0]),
        "item": reader.read("item", items, roles.item, read.items, read.integer_ids[1], title),
    }
    context = () if read.context is None else reader.columns(CONTEXT, read.context)
    reader.finish()
    model = _model_to_fit(settings, events=read.target is None)
    negatives = check_integer("negatives", settings.negatives, 1, 1000)
    seed = check_integer("random_state", settings.random_state, 0)
    user_tower = check_choice("user_tower", settings.user_tower, tuple(USER_TOWERS.names()))

    pairs = _indices(sides, read)
    observed = {name: np.unique(indices) for name, indices in pairs.items()}  # of the others there is nothing to learn
    widths = {"user": len(observed["item"])} if settings.history else {}
    widths |= {"item": len(observed["user"])} if settings.raters else {}
    blocks, y = _examples(sides, context, read, pairs, observed, widths, negatives, seed)
    model.fit(blocks, y, callback=callback)
    scores = model.predict(blocks)

    count, ratings = counted(pairs["user"]), read.target
    if ratings is not None and context:
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
    state = State(
        users=sides["user"],
        items=sides["item"],
        context=context,
        log=log,
        parameters=parameters,
        index=Index(parameters, catalogue, "item"),
        model=model.record(),
        n_jobs=model.n_jobs,
        user_tower=user_tower,
        negatives=float(negatives) if read.target is None else 0.0,
        target=roles.target,
        time=roles.time,
        frames=read.frames,
        columns=reader.notes,
        unsaved={name: getattr(model, name) for name in model.unsaved},
    )
    state = replace(state, moments=_moments(state, learnt))
    return replace(state, priors=_priors(state, learnt, float(np.mean((y - scores) ** 2)))), (blocks, y)


def training_data(state: State, interactions: Interactions, negatives: int, seed: int) -> TrainingData:
    """Return interactions as a model with the state's fields would learn from them."""
    sides = {name: state.side(name) for name in SEEN_FIELDS}
    ids = {name: np.arange(len(side)) for name, side in sides.items()}
    widths = {name: state.sizes[name, seen] for name, seen in SEEN_FIELDS.items() if (name, seen) in state.sizes}
    pairs = _indices(sides, interactions)
    return _examples(sides, state.context, interactions, pairs, ids, widths, negatives, seed)


def _model_to_fit(settings: Recommender, *, events: bool) -> DistilledFM | DiscreteFM:
    model = settings.model
    if model is None:
        about = {name: getattr(settings, name) for name in ("bits", "random_state", "n_jobs", "verbose")}
        model = DistilledFM(**about)
    elif not isinstance(model, DistilledFM | DiscreteFM):
        raise TypeError(f"model must be a DistilledFM, a DiscreteFM or None, got {type(model).__name__}.")
    model = clone(model)
    if events and isinstance(model, DistilledFM):
        model.teacher = clone(_TEACHER) if model.teacher is None else model.teacher
        if model.anchor_strength == "auto":
            model.anchor_strength = _ANCHOR_STRENGTH
    model.pairs = "across"
    return model


def _examples(
    sides: Mapping[str, Side],
    context: Sequence[FittedColumn],
    interactions: Interactions,
    pairs: Indices,
    ids: Indices,
    widths: Mapping[str, int],
    negatives: int,
    seed: int,
) -> TrainingData:
    """Return blocks and targets.

    Rows and columns of users and items are those of `ids`; `widths` are those of what a side has seen, if it has a
    field for it. For events, every user and item has one row per fold, with what the other folds tell of it. Of a user
    with too many interactions, some are examples; all are history.
    """
    users, items = (np.searchsorted(ids[name], pairs[name]).astype(np.int32) for name in SEEN_FIELDS)
    shape, n = (len(ids["user"]), len(ids["item"])), len(users)
    contexts = None
    if context:
        assert interactions.context is not None
        contexts = context_block(context, interactions.context)
    if interactions.target is None:
        in_contexts = None if contexts is None else contexts.rows
        examples = event_examples(users, items, shape[1], negatives, np.random.default_rng(seed), in_contexts)
        others = [examples.fold[:n] != fold for fold in range(FOLDS)]
        logs = [InteractionMatrix.of(users[other], items[other], shape) for other in others]
        y = examples.chosen.astype(np.float64)
    else:
        examples = Examples(np.arange(n), items, np.ones(n, bool), np.zeros(n, np.int32))
        logs = [InteractionMatrix.of(users, items, shape)]
        y = interactions.target
    learnt = counted(users)[examples.event]
    examples, y = examples.take(learnt), y[learnt]
    blocks = {}
    for name, rows in (("user", users[examples.event]), ("item", examples.item)):
        own, eye, width = sides[name].fields(ids[name]), FeatureTable.eye(len(ids[name])), widths.get(name)
        seen = [log.side(name) for log in logs] if width is not None else [None]  # alike in all folds
        folds = [field_tables(name, own, one, width, eye) for one in seen]
        tables = folds[0]
        if len(folds) > 1:
            tables = {field: FeatureTable.stack([fold[field] for fold in folds]) for field in tables}
            rows = (rows + len(eye) * examples.fold.astype(np.int64)).astype(np.int32)
        blocks[name] = Block(rows, tables)
        if name == "user" and contexts is not None:  # users and context, which queries are made of, come first
            blocks[CONTEXT] = Block(contexts.rows[examples.event], contexts.tables)
    return Blocks(**blocks), y


def _indices(sides: Mapping[str, Side], interactions: Interactions) -> Indices:
    """Return the indices of users and items, all of which must be known."""
    found = {}
    for name, ids in (("user", interactions.users), ("item", interactions.items)):
        found[name] = sides[name].ids.indices(ids)
        if (found[name] < 0).any():
            unknown = ids[int(np.argmin(found[name]))]
            raise UnknownIdError(f"{name} {unknown!r} is not known; add it with add_{name}s first.")
    return found


def _moments(state: State, learnt: InteractionMatrix) -> dict[str, SideMoments]:
    """Return either side as a new id of the other sees it, by the name of the new id's side."""
    users, items = (np.diff(learnt.side(name).indptr) for name in SEEN_FIELDS)
    some_users, some_items = np.flatnonzero(users), np.flatnonzero(items)
    unseen = state.negatives * learnt.by_user.n_entries / max(len(some_items), 1)
    return {
        "user": SideMoments.of_items(*state.other_side("user", some_items), items[some_items], state.negatives),
        "item": SideMoments.of_users(*state.other_side("item", some_users), users[some_users], unseen),
    }


def _priors(state: State, learnt: InteractionMatrix, noise: float) -> dict[str, Prior]:
    """Return what the ids of either side are like that were learnt from ratings."""
    priors = {}
    for name, others in state.moments.items():
        counts = np.diff(learnt.side(name).indptr)
        observed = np.flatnonzero(counts)
        weights, vectors = ids_of(state.parameters, name, observed)
        n = counts[observed] * (1 + others.negatives_per_event) + others.negatives_per_item
        an_entry = float(np.trace(others.hessian)) / vectors.shape[1]
        priors[name] = Prior(
            noise,
            prior_variance(float(np.mean(weights**2)), noise / n),
            prior_variance(float(np.mean(vectors**2)), noise / np.maximum(n * an_entry, 1e-12)),
        )
    return priors
