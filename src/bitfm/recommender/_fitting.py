"""From checked tables to a fitted state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.data.interactions import Interactions
from bitfm.errors import UnknownIdError
from bitfm.models import Callback, DiscreteFM, DistilledFM
from bitfm.parameters import Prior, SideMoments, ids_of, prior_variance, with_all_ids
from bitfm.recommender._contexts import context_block
from bitfm.recommender._events import FOLDS, event_examples
from bitfm.recommender._matrix import InteractionMatrix, seen_table
from bitfm.recommender._side import Side, one_hot_ids
from bitfm.recommender._state import CONTEXT, SEEN_FIELDS, FittedTables, State, field_name, moments_of
from bitfm.retrieval import Index

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data import FittedColumn

__all__ = ["Fitting"]

Indices: TypeAlias = Mapping[str, npt.NDArray[Any]]  # of users and of items


@dataclass(frozen=True)
class Fitting:
    """One fit: sides and interactions, and how to learn from them."""

    users: Side
    items: Side
    context: tuple[FittedColumn, ...]
    interactions: Interactions
    model: DiscreteFM | DistilledFM | None  # None: for its examples alone
    history: bool
    raters: bool
    negatives: int
    seed: int
    user_tower: str = "stored"
    sizes: Mapping[tuple[str, str], int] = field(default_factory=dict)  # of fields, where they are not all there is

    def run(self, *, callback: Callback | None) -> State:
        """Fit the model."""
        users, items = self._indices
        blocks, y = self.training_examples
        assert self.model is not None
        model = self.model.fit(blocks, y, callback=callback)
        scores = model.predict(blocks)
        ratings = np.ones(len(users)) if self.interactions.target is None else y
        if self.interactions.target is not None and self.context:
            ratings = y - (scores - model.predict(_without_context(blocks)))
        log = InteractionMatrix.of(users, items, ratings, (len(self.users), len(self.items)))
        all_ids = self._all_ids()
        sizes = {name: len(indices) for name, indices in all_ids.items()}
        parameters = with_all_ids(model.parameters_, self._observed, sizes, SEEN_FIELDS)
        catalogue = Block(all_ids["item"], self._tables("item", log.by_item, all_ids["item"]))
        negatives = float(self.negatives) if self.interactions.target is None else 0.0
        tables = FittedTables(self.users, self.items, self.context, log, parameters, model.n_jobs, self.user_tower)
        moments = moments_of(tables, negatives)
        return State.of(
            tables,
            model=model.record(),
            index=Index(parameters, catalogue, "item"),
            priors=_priors(tables, moments, float(np.mean((y - scores) ** 2))),
            moments=moments,
            negatives=negatives,
            target=self.interactions.roles.target,
            time=self.interactions.roles.time,
            frames=self.interactions.frames,
        )

    @cached_property
    def training_examples(self) -> tuple[Blocks, npt.NDArray[np.float64]]:
        """Blocks and targets that the model is fitted to, with columns for observed ids alone."""
        return self._examples(*self._indices, self._observed)

    def examples(self) -> tuple[Blocks, npt.NDArray[np.float64]]:
        """Return what the model learns from, with the columns that it has in the end."""
        return self._examples(*self._indices, self._all_ids())

    def _examples(
        self, users: npt.NDArray[np.int32], items: npt.NDArray[np.int32], among: Indices
    ) -> tuple[Blocks, npt.NDArray[np.float64]]:
        """Return blocks and targets; rows and columns of users and items are some of them, in their order."""
        users, items = (
            np.searchsorted(among[name], indices).astype(np.int32)
            for name, indices in (("user", users), ("item", items))
        )
        if self.interactions.target is None:
            return self._blocks_of_events(users, items, among)
        return self._blocks_of_ratings(users, items, among), self.interactions.target

    def _all_ids(self) -> Indices:
        return {"user": np.arange(len(self.users)), "item": np.arange(len(self.items))}

    @cached_property
    def _indices(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
        return _known(self.users, self.interactions.users), _known(self.items, self.interactions.items)

    @cached_property
    def _observed(self) -> Indices:
        users, items = self._indices
        return {"user": np.unique(users), "item": np.unique(items)}  # of the others there is nothing to learn

    def _blocks_of_ratings(self, users: npt.NDArray[np.int32], items: npt.NDArray[np.int32], among: Indices) -> Blocks:
        log = InteractionMatrix.of(users, items, np.ones(len(users)), (len(among["user"]), len(among["item"])))
        user = Block(users, self._tables("user", log.by_user, among["user"]))
        item = Block(items, self._tables("item", log.by_item, among["item"]))
        return self._put_together(user, item, None)

    def _blocks_of_events(
        self, users: npt.NDArray[np.int32], items: npt.NDArray[np.int32], among: Indices
    ) -> tuple[Blocks, npt.NDArray[np.float64]]:
        """Return examples in folds; every user and item has one row per fold, with what the other folds tell of it."""
        n_users, n_items = len(among["user"]), len(among["item"])
        rng, contexts = np.random.default_rng(self.seed), self._contexts
        of_events = None if contexts is None else contexts.rows
        examples = event_examples(users, items, n_items, self.negatives, rng, of_events)
        folds = examples.fold[: len(users)]
        logs = [
            InteractionMatrix.of(
                users[folds != f], items[folds != f], np.ones(int((folds != f).sum())), (n_users, n_items)
            )
            for f in range(FOLDS)
        ]
        tables = {
            name: _stack([self._tables(name, log.side(name), among[name]) for log in logs])
            if self._sees(name)
            else None
            for name in ("user", "item")
        }
        sides = {}
        for name, n, rows in (("user", n_users, users[examples.event]), ("item", n_items, examples.item)):
            of_folds = tables[name]
            if of_folds is None:  # alike in all folds
                sides[name] = Block(rows, self._tables(name, logs[0].side(name), among[name]))
            else:
                sides[name] = Block((rows + n * examples.fold.astype(np.int64)).astype(np.int32), of_folds)
        return self._put_together(sides["user"], sides["item"], examples.event), examples.chosen.astype(np.float64)

    def _put_together(self, user: Block, item: Block, rows: npt.NDArray[np.intp] | None) -> Blocks:
        """Add the contexts: of all interactions, or of some rows of them."""
        context = self._contexts
        if context is None:
            return Blocks(user=user, item=item)
        if rows is not None:
            context = Block(context.rows[rows], context.tables)
        return Blocks(user=user, **{CONTEXT: context}, item=item)  # users and context, which queries are made of, first

    @cached_property
    def _contexts(self) -> Block | None:
        if not self.context:
            return None
        assert self.interactions.context is not None
        return context_block(self.context, self.interactions.context)

    def _tables(self, name: str, seen: FeatureTable, indices: npt.NDArray[Any]) -> dict[str, FeatureTable]:
        """Return all fields of some rows of a side; ids come last, so that what many share is learnt first."""
        side = self.users if name == "user" else self.items
        own = side.own_tables(None if len(indices) == len(side) else indices)
        tables = {field_name(column): table for column, table in own.items()}
        if self._sees(name):
            width = self.sizes.get((name, SEEN_FIELDS[name]), seen.n_columns)
            tables[SEEN_FIELDS[name]] = seen_table(seen, width)
        return {**tables, "id": FeatureTable.eye(len(indices))}

    def _sees(self, name: str) -> bool:
        return self.history if name == "user" else self.raters


def _known(side: Side, ids: pl.Series) -> npt.NDArray[np.int32]:
    indices = side.ids.indices(ids)
    if (indices < 0).any():
        unknown = ids[int(np.argmin(indices))]
        raise UnknownIdError(f"{side.name} {unknown!r} is not known; add it with add_{side.name}s first.")
    return indices


def _priors(tables: FittedTables, moments: Mapping[str, SideMoments], noise: float) -> dict[str, Prior]:
    """Return what the ids of either side are like that have ratings."""
    priors = {}
    for name, others in moments.items():
        counts = np.diff(tables.log.side(name).indptr)
        observed = np.flatnonzero(counts)
        weights, vectors = ids_of(tables.parameters, name, observed)
        n = counts[observed] * (1 + others.negatives_per_event) + others.negatives_per_item
        an_entry = float(np.trace(others.hessian)) / vectors.shape[1]
        priors[name] = Prior(
            noise,
            prior_variance(float(np.mean(weights**2)), noise / n),
            prior_variance(float(np.mean(vectors**2)), noise / np.maximum(n * an_entry, 1e-12)),
        )
    return priors


def _stack(folds: list[dict[str, FeatureTable]]) -> dict[str, FeatureTable]:
    """Put the rows of the folds one below the other."""
    stacked = {}
    for name, first in folds[0].items():
        if name == "id":
            stacked[name] = one_hot_ids(np.tile(np.arange(first.n_rows), len(folds)), first.n_columns)
        else:
            stacked[name] = FeatureTable.stack([fold[name] for fold in folds])
    return stacked


def _without_context(blocks: Blocks) -> Blocks:
    context = blocks.blocks[CONTEXT]
    empty = {name: FeatureTable.empty(1, t.n_columns) for name, t in context.tables.items()}
    parts: dict[str, Any] = {**blocks.blocks, CONTEXT: Block(np.zeros(len(context), np.int32), empty)}
    return Blocks(**parts)
