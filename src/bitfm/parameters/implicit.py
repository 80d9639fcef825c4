"""What a fit to events yields: codes of items, a decoder and neighbours. Users are folded in from their histories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import score_listed
from bitfm.data.blocks import FieldSpan
from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.errors import ModelFileError
from bitfm.parameters.event_fold_in import EventWeights, fold_in_events
from bitfm.parameters.feature_vectors import FeatureVectors
from bitfm.parameters.item_codes import ItemCodes
from bitfm.parameters.neighbors import Neighbors
from bitfm.parameters.tower import TowerRows
from bitfm.persist import damage

__all__ = ["HISTORY", "HistoryTower", "ImplicitParameters", "ItemTower", "UserSide"]

HISTORY, ID = "history", "id"  # fields of users and of items, whose columns are the items
Vectors = npt.NDArray[np.float32]

_LEAST_SCALE = 1e-12  # beside a query's largest number: what a weight adds is less than rounding


@dataclass(frozen=True, eq=False)
class UserSide:
    """What the fit has learnt of its users, none of whom is kept.

    Parameters
    ----------
    gram : array of float64, rank × rank
        Σ p pᵀ over the users with events.
    mean : array of float32, one per dimension
        The mean of their p.
    unknown : array of float32, one per dimension
        p of a user of whom nothing is known: the mean or, where users have features, what all of them share.
    n : int
        How many had events.
    """

    gram: npt.NDArray[np.float64]
    mean: Vectors
    unknown: Vectors
    n: int

    @property
    def covariance(self) -> Vectors:
        """How p varies from user to user."""
        mean = self.mean.astype(np.float64)
        return np.asarray(self.gram / max(self.n, 1) - np.outer(mean, mean), np.float32)


@dataclass(frozen=True, eq=False)
class ImplicitParameters:
    """score(u, j) = scale ⟨p_u + h, c_j⟩ + Σ S_ij over the items i in the history of u; h is what the context says.

    An item that is in the history has more than that: `repeat` times the root of how much it counts there.

    Parameters
    ----------
    fields : tuple of FieldSpan
        Features of users and, last, their history; features of contexts; features of items and, last, their ids.
    items : ItemCodes
        c, in the axes in which their Gram matrix is diagonal.
    gram : array of float64, one per dimension
        That diagonal.
    neighbors : Neighbors
        S and the scale.
    weights : EventWeights
        The weights of the fold-in.
    n_observed : int
        How many items had events at the fit.
    users : UserSide
    features : FeatureVectors
        One vector per feature of users, contexts and items, in this order.
    repeat : float
    file : str or None
        Where they were opened from.
    """

    fields: tuple[FieldSpan, ...]
    items: ItemCodes
    gram: npt.NDArray[np.float64]
    neighbors: Neighbors
    weights: EventWeights
    n_observed: int
    users: UserSide
    features: FeatureVectors
    repeat: float = 0.0
    file: str | None = None

    pairs = "across"

    @property
    def bits(self) -> int:
        """Length of the codes."""
        return self.items.bits

    @property
    def width(self) -> int:
        """Numbers of a query's vector."""
        return self.items.bits

    @property
    def n_features(self) -> int:
        """Number of features of all fields, histories and ids included."""
        return self.fields[-1].stop

    @property
    def sizes(self) -> dict[tuple[str, str], int]:
        """Number of features by block and field."""
        return {(field.block, field.name): field.size for field in self.fields}

    @cached_property
    def _starts(self) -> dict[tuple[str, str], int]:
        """Where a field's vectors begin."""
        starts, start = {}, 0
        for field in feature_fields(self.fields):
            starts[field.block, field.name], start = start, start + field.size
        return starts

    def vectors_start(self, block: str, name: str) -> int:
        """Return which of `features` is the first of a field."""
        return self._starts[block, name]

    @cached_property
    def user_features(self) -> bool:
        """Whether users have features."""
        block = self.fields[0].block
        return any(of_block == block for of_block, _ in self._starts)

    def said(self, block: str, tables: Mapping[str, FeatureTable], n_threads: int = 1) -> Vectors | None:
        """Return what the features of rows say: the sum of their vectors, or None where the block has none."""
        found: Vectors | None = None
        for name, table in tables.items():
            start = self._starts.get((block, name))
            if start is not None:
                part = self.features.sums(table, start, n_threads)
                found = part if found is None else np.asarray(found + part)
        return found

    def lengths(self, field: FieldSpan) -> Vectors:
        """Return how long the vectors of a field's features are; of histories and ids, those of the items."""
        start = self._starts.get((field.block, field.name))
        vectors = self.items.vectors() if start is None else self.features.take(slice(start, start + field.size))
        return np.asarray(np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype=np.float64)), np.float32)

    def without(self, fields: Sequence[str]) -> ImplicitParameters:
        """Return parameters for which some fields of users or contexts, or whole blocks, count for nothing."""
        item, features = self.fields[-1].block, list(feature_fields(self.fields))
        possible = [field for field in features if field.block != item]
        scales = self.features.scales.copy()
        for name in fields:
            meant = [f for f in possible if name in (f.block, f"{f.block}.{f.name}")]
            if not meant:
                known = ", ".join(f"{f.block}.{f.name}" for f in possible) or "none"
                what = "histories and features of items are in the codes"
                raise ValueError(f"without: {name!r} cannot be left out, only {known}; {what}.")
            for field in meant:
                start = self._starts[field.block, field.name]
                scales[start : start + field.size] = 0
        return replace(self, features=FeatureVectors(self.features.values, scales))

    def priors(self, tables: Mapping[str, FeatureTable], n_threads: int = 1) -> Vectors | None:
        """Return what users are by their features; None where users have no features."""
        said = self.said(self.fields[0].block, tables, n_threads)
        return None if said is None else self.users.unknown + said

    def fold_in(self, histories: FeatureTable, priors: Vectors | None = None, n_threads: int = 1) -> Vectors:
        """Return the vectors of users, by their histories, users × items, whose values are those of events.

        A user without events is its prior; without one, the mean of those at the fit.
        """
        indptr, indices, values = histories.arrays()
        distinct, local = np.unique(indices, return_inverse=True)
        table = FeatureTable.sparse(indptr, local.astype(np.int32), values.astype(np.float32), len(distinct))
        vectors = self.items.vectors(distinct, n_threads)
        if priors is None and self.user_features:
            priors = np.repeat(self.users.unknown[None], len(histories), axis=0)
        with self.naming_file():
            found = fold_in_events(table, vectors, self.gram, self.weights, self.n_observed, priors, n_threads)
        if priors is None:
            found[np.diff(indptr) == 0] = self.users.unknown
        return found

    def rows(
        self,
        histories: FeatureTable,
        priors: Vectors | None = None,
        context: Vectors | None = None,
        n_threads: int = 1,
    ) -> TowerRows:
        """Return queries for an index of the items: folded-in users, their contexts and what their histories add."""
        users = self.fold_in(histories, priors, n_threads)
        return self.rows_of(users if context is None else users + context, histories, n_threads)

    def rows_of(self, users: Vectors, histories: FeatureTable, n_threads: int = 1) -> TowerRows:
        """Return queries of vectors of users."""
        scales, vectors = self._queries(users, n_threads)
        scored = None
        if self.neighbors.n_entries or self.repeat:
            added = self._added(histories)
            scored = self._listed(scales, vectors, added, added.values, n_threads)
        n_codes, none = np.zeros((0, self.bits // 8), np.uint8), np.zeros(len(users), bool)
        return TowerRows(np.zeros(len(users)), n_codes, np.zeros(0, np.float32), vectors, none, scales, scored)

    def scores(self, users: Vectors, histories: FeatureTable, wanted: FeatureTable, n_threads: int = 1) -> Vectors:
        """Return the scores of the items that are wanted of each user; values of what is wanted do not matter."""
        scales, vectors = self._queries(users, n_threads)
        added = np.zeros(wanted.n_entries, np.float32)
        if self.neighbors.n_entries or self.repeat:
            extra = self._added(histories)
            known, asked = (_keys(table) for table in (extra, wanted))
            places = np.minimum(np.searchsorted(known, asked), max(len(known) - 1, 0))
            if len(known):
                added = np.where(known[places] == asked, extra.values[places], np.float32(0))
        return np.asarray(self._listed(scales, vectors, wanted, added, n_threads).values, np.float32)

    @contextmanager
    def naming_file(self) -> Iterator[None]:
        """Name the file, if there is one, in errors about numbers: they are those of a damaged one."""
        try:
            yield
        except ModelFileError:
            raise
        except ValueError as error:
            if self.file is None:
                raise
            raise damage(self.file, f"the model is damaged: {str(error).rstrip('.')}") from None

    def _added(self, histories: FeatureTable) -> FeatureTable:
        with self.naming_file():
            return self.neighbors.sums(histories, self.repeat)

    def _queries(self, users: Vectors, n_threads: int) -> tuple[npt.NDArray[np.float64], Vectors]:
        of_weights, vectors = self.items.queries(users, n_threads)
        vectors = np.float32(self.neighbors.scale) * vectors
        scales = of_weights.astype(np.float64) * self.neighbors.scale
        least = np.maximum(_LEAST_SCALE * np.abs(vectors).max(axis=1, initial=0), 1e-30)
        return np.where(np.abs(scales) > least, scales, least), vectors

    def _listed(
        self, scales: npt.NDArray[np.float64], vectors: Vectors, which: FeatureTable, added: Vectors, n_threads: int
    ) -> FeatureTable:
        items, scores = self.items, np.empty(which.n_entries, np.float32)
        indptr, indices, _ = which.arrays()
        score_listed(
            items.codes, items.gains, items.weights, vectors, scales, indptr, indices, added, scores, n_threads
        )
        return FeatureTable.sparse(indptr, indices, scores, len(items))


def _keys(table: FeatureTable) -> npt.NDArray[np.int64]:
    """Return row × columns + column of every entry."""
    rows = np.repeat(np.arange(table.n_rows, dtype=np.int64), np.diff(table.indptr))
    return rows * table.n_columns + table.indices


def feature_fields(fields: tuple[FieldSpan, ...]) -> Iterator[FieldSpan]:
    """Yield the fields that have vectors: all but histories and ids."""
    for field in fields:
        if (field.block, field.name) not in ((fields[0].block, HISTORY), (fields[-1].block, ID)):
            yield field


class ItemTower:
    """The items: a code, a gain and a weight each."""

    def __init__(self, parameters: ImplicitParameters) -> None:
        self.blocks = (parameters.fields[-1].block,)
        self._items = parameters.items
        self._none = np.zeros((0, parameters.bits), np.float32)

    @property
    def n_features(self) -> int:
        """Number of items."""
        return len(self._items)

    def rows(self, what: str, given: Any, n_threads: int = 1) -> TowerRows:
        """Return the rows of items, given by their indices."""
        ids = check_rows(what, np.atleast_1d(given), len(self._items))
        codes, gains = self._items.codes.take(ids, axis=0), self._items.gains.take(ids)
        return TowerRows(self._items.weights.take(ids).astype(np.float64), codes, gains, self._none)


class HistoryTower:
    """Users by their histories."""

    def __init__(self, parameters: ImplicitParameters) -> None:
        self.blocks = (parameters.fields[0].block,)
        self._parameters = parameters

    def rows(self, what: str, given: Any, n_threads: int = 1) -> TowerRows:
        """Return queries for histories: a sparse matrix of users × items, of events."""
        histories = FeatureTable.of(what, given)
        n_items = len(self._parameters.items)
        if histories.n_columns != n_items:
            raise ValueError(f"{what}: expected histories of {n_items} items, got {histories.n_columns} columns.")
        return self._parameters.rows(histories, n_threads=n_threads)

    def typical_length(self) -> float:
        """Return about how long a query's vector is, where what a weight counts for is 1."""
        scales, vectors = self._parameters.items.queries(self._parameters.users.unknown[None])
        length = float(np.sqrt(np.sum(vectors.astype(np.float64) ** 2)))
        return length / max(abs(float(scales[0])), 1e-12 * length, 1e-30)
