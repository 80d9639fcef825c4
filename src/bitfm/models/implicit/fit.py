"""A fit to events, step by step: teacher, codes, neighbours, contexts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import multiply
from bitfm.models.implicit.context import Contexts
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.encoder import encode_items
from bitfm.models.implicit.features import SideFeatures
from bitfm.models.implicit.neighbors import NeighborSettings, learn_neighbors
from bitfm.models.implicit.teacher import Teacher, fit_teacher, own_axes
from bitfm.parameters import (
    EventWeights,
    FeatureVectors,
    ImplicitParameters,
    ItemCodes,
    Neighbors,
    UserSide,
    fold_in_events,
)

__all__ = ["RATIO", "Coded", "EventFit", "EventSettings"]

Vectors = npt.NDArray[np.float32]

_CONTEXT_STEPS = 12
RATIO = 5.0


class EventSettings(NamedTuple):
    """What a fit needs to know, chosen or given."""

    regularization: float = 0.12
    feature_strength: float = 0.1  # the penalty of features' vectors, beside those of rows
    neighbors: NeighborSettings = NeighborSettings()
    context: float | None = 1.0  # its penalty, beside that of a user; None: contexts count for nothing
    ratio: float = RATIO  # how much all pairs without an event count, against all events
    repeat: float = 0.0  # what an item counts for its own, beside the scale of vectors


class Coded(NamedTuple):
    """Items as codes, and what features say, in the axes in which the items' Gram matrix is diagonal."""

    codes: ItemCodes
    gram: npt.NDArray[np.float64]
    user_features: Vectors | None
    item_features: Vectors | None
    priors: Vectors | None  # of users, by their features


@dataclass(frozen=True, eq=False)
class EventFit:
    """What to fit to, and how large and how long."""

    data: EventData
    bits: int
    n_neighbors: int
    rank: int
    n_iter: int
    seed: int
    n_threads: int
    share: float = 1.0  # of the events that the settings are for

    def weights(self, settings: EventSettings) -> EventWeights:
        """Return the weights of the objective."""
        ratio = settings.ratio
        # The best regularization rises about as the root of the ratio. So either can be chosen after the other.
        # A penalty is a multiple of a row's events, but with more of them a row needs no more of it.
        regularization = settings.regularization / self.share * (ratio / RATIO) ** 0.5
        return EventWeights(ratio * self.data.events.density, regularization / (1 + ratio))

    @cached_property
    def sides(self) -> tuple[SideFeatures | None, SideFeatures | None]:
        """The features of users and of items."""
        user, item = self.data.blocks
        of_users, of_items = self.data.features(user), self.data.features(item)
        return (
            SideFeatures.with_intercept(of_users) if of_users else None,  # of whom nothing is known is the mean
            SideFeatures(of_items) if of_items else None,
        )

    @property
    def observed(self) -> npt.NDArray[np.bool_]:
        """Which items have events."""
        return self.data.events.item_sizes > 0

    def teacher(self, settings: EventSettings, rank: int | None = None, n_iter: int | None = None) -> Teacher:
        """Return real-valued vectors."""
        of_users, of_items = (
            None if side is None else replace(side, strength=settings.feature_strength) for side in self.sides
        )
        return fit_teacher(
            self.data.events,
            self.weights(settings),
            self.rank if rank is None else rank,
            self.n_iter if n_iter is None else n_iter,
            self.seed,
            self.n_threads,
            user_features=of_users,
            item_features=of_items,
            contexts=self.contexts(settings),
        )

    def coded(self, settings: EventSettings) -> Coded:
        """Return codes of the items."""
        teacher, threads, weights = self.teacher(settings), self.n_threads, self.weights(settings)
        contexts, n_users = self.contexts(settings), int((self.data.events.user_sizes > 0).sum())
        queries, table = teacher.queries.astype(np.float64), self.data.events.by_item
        if contexts is not None:
            queries, table = queries * contexts.roots[:, None], contexts.by_item
        codes = encode_items(
            table,
            teacher.queries,
            multiply(queries.T, queries, threads),
            teacher.items,
            weights.ridge(self.data.events.item_sizes, n_users),
            weights.unobserved,
            self.bits,
            self.seed,
            threads,
        )
        gram, axes = own_axes(codes.vectors(n_threads=threads)[self.observed], threads)
        codes = replace(codes, decoder=multiply(codes.decoder, axes))
        of_users, of_items = (
            None if vectors is None else multiply(vectors, axes, threads)
            for vectors in (teacher.user_features, teacher.item_features)
        )
        side = self.sides[0]
        priors = None if side is None or of_users is None else side.sums(of_users, threads)
        return Coded(codes, gram, of_users, of_items, priors)

    def users(self, settings: EventSettings, coded: Coded, items: Vectors) -> Vectors:
        """Return the vectors of the users, folded in."""
        n_items, by_user = int(self.observed.sum()), self.data.events.by_user
        return fold_in_events(by_user, items, coded.gram, self.weights(settings), n_items, coded.priors, self.n_threads)

    def neighbors(self, settings: EventSettings, coded: Coded, items: Vectors) -> tuple[Neighbors, Vectors]:
        """Return the neighbours of items, and the vectors of the users."""
        return learn_neighbors(
            self.data.events,
            items,
            coded.gram,
            self.weights(settings),
            self.n_neighbors,
            settings.neighbors,
            coded.priors,
            self.n_threads,
        )

    def contexts(self, settings: EventSettings) -> Contexts | None:
        """Return the contexts, if there are any and they count."""
        if self.data.contexts is None or self.data.each is None or settings.context is None:
            return None
        return Contexts(self.data.each, self.data.contexts, self.data.events.shape, settings.context)

    def context_vectors(self, settings: EventSettings, coded: Coded, users: Vectors, items: Vectors) -> Vectors | None:
        """Return a vector per feature of contexts; None where there are no contexts."""
        if self.data.contexts is None:
            return None
        contexts, weights = self.contexts(settings), self.weights(settings)
        if contexts is None:
            return np.zeros((self.data.contexts.n_columns, items.shape[1]), np.float32)
        return self._centred(contexts.fit(users, items, coded.gram, weights, None, self.n_threads, _CONTEXT_STEPS))

    def _centred(self, vectors: Vectors) -> Vectors:
        """Return vectors of contexts less the mean of each one-hot field: one that is not given counts for 0."""
        assert self.data.each is not None
        counts, start = np.bincount(self.data.each.contexts), 0
        for (block, _), table in self.data.tables.items():
            if block not in self.data.blocks:
                end, (indptr, indices, values) = start + table.n_columns, table.arrays()
                if (np.diff(indptr) <= 1).all() and (values == 1).all():
                    shares = np.bincount(indices, np.repeat(counts, np.diff(indptr)), table.n_columns)
                    part = vectors[start:end]
                    part -= (np.einsum("i,ij->j", shares, part) / max(shares.sum(), 1)).astype(np.float32)
                start = end
        return vectors

    def parameters(self, settings: EventSettings) -> ImplicitParameters:
        """Fit it all."""
        coded = self.coded(settings)
        items = coded.codes.vectors(n_threads=self.n_threads)
        neighbors, users = self.neighbors(settings, coded, items)
        contexts = self.context_vectors(settings, coded, users, items)
        observed = self.data.events.user_sizes > 0
        wide, rank = users[observed].astype(np.float64), items.shape[1]
        mean = unknown = wide.mean(axis=0).astype(np.float32)
        parts = []
        if coded.user_features is not None:
            unknown, parts = coded.user_features[-1], [coded.user_features[:-1]]
        parts += [] if contexts is None else [contexts]
        parts += [] if coded.item_features is None else [coded.item_features]
        return ImplicitParameters(
            self.data.fields,
            coded.codes,
            coded.gram,
            neighbors,
            self.weights(settings),
            int(self.observed.sum()),
            UserSide(multiply(wide.T, wide, self.n_threads), mean, unknown, len(wide)),
            FeatureVectors.of(np.vstack([np.zeros((0, rank), np.float32), *parts])),
            settings.repeat * neighbors.scale,
        )
