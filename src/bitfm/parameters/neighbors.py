"""What the items in a history add to the scores of others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import FeatureTable
from bitfm.parameters.steps import Steps

__all__ = ["Neighbors"]

_MOST_TARGETS = 255  # of one source: a byte


@dataclass(frozen=True, eq=False)
class Neighbors:
    """S_ij ≥ 0: what an item i in a history adds to the score of an item j. Make it with `of`.

    Parameters
    ----------
    counts : array of uint8, one per source i
        How many targets j a source has.
    targets : array of uint8, entries × width
        The targets of the first source, those of the second and so on, each as so many bytes, the lowest first.
    steps : Steps, one per entry
        Their S_ij.
    scale : float
        What the product of vectors counts for beside them.

    Examples
    --------
    >>> table = FeatureTable.of("S", np.array([[0, 0.5, 0], [0, 0.25, 0.25], [0, 0, 0]]))
    >>> Neighbors.of(table, 1.0).sums(FeatureTable.of("history", np.array([[1, 1, 0], [0, 0, 1]]))).toarray()
    array([[0.  , 0.75, 0.25],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """

    counts: npt.NDArray[np.uint8]
    targets: npt.NDArray[np.uint8]
    steps: Steps
    scale: float

    @classmethod
    def of(cls, table: FeatureTable, scale: float) -> Neighbors:
        """Take S, sources × targets, and round its values."""
        indptr, indices, values = table.arrays()
        counts = np.diff(indptr)
        if counts.max(initial=0) > _MOST_TARGETS:
            raise ValueError(f"neighbors: a source has {counts.max()} targets; at most {_MOST_TARGETS} are possible.")
        width = max(1, (max(table.n_columns - 1, 0).bit_length() + 7) // 8)
        targets = indices.astype("<i4").view(np.uint8).reshape(-1, 4)[:, :width]
        return cls(counts.astype(np.uint8), np.ascontiguousarray(targets), Steps.of(values), scale)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def n_entries(self) -> int:
        """Number of entries of S."""
        return len(self.targets)

    @cached_property
    def table(self) -> FeatureTable:
        """S, sources × targets; made, and checked, when it is first asked for."""
        indptr = np.append(0, np.cumsum(self.counts, dtype=np.int64))
        wide = np.zeros((len(self.targets), 4), np.uint8)
        wide[:, : self.targets.shape[1]] = self.targets
        indices = wide.view("<i4")[:, 0].astype(np.int32)
        if indptr[-1] != len(indices) or (len(indices) and not 0 <= indices.min() <= indices.max() < len(self)):
            raise ValueError("its neighbours do not lie within its items")
        return FeatureTable.sparse(indptr, indices, self.steps.values, len(self))

    def with_items(self, n_items: int) -> Neighbors:
        """Return the same for more items, which have none."""
        found = Neighbors.of(_padded(self.table, n_items), self.scale)
        return Neighbors(found.counts, found.targets, self.steps, self.scale)

    def only(self, items: npt.NDArray[Any]) -> Neighbors:
        """Return what some items, in rising order, add to the scores of each other; they are numbered anew."""
        table = self.table
        # The values are places of the entries, so that each keeps its step.
        numbered = FeatureTable.sparse(table.indptr, table.indices, np.arange(self.n_entries), len(self))
        left = numbered.take(items).with_columns(items)
        found = Neighbors.of(left, self.scale)
        return Neighbors(found.counts, found.targets, self.steps.only(left.values), self.scale)

    def sums(self, histories: FeatureTable, repeat: float = 0.0) -> FeatureTable:
        """Return Σ S_ij, histories × targets, over the entries of each history that are above 0.

        To those themselves is added what a repeat counts for, times the root of how much they count.
        """
        indptr, indices, values = histories.arrays()
        liked = values > 0
        rows = np.repeat(np.arange(len(histories)), np.diff(indptr))[liked]
        own = indices[liked].astype(np.int64)
        sources, n = self.table.take(own), self.table.n_columns
        keys = np.repeat(rows, np.diff(sources.indptr)) * np.int64(n) + sources.indices
        amounts: Any = sources.values
        if repeat:
            keys = np.concatenate([keys, rows * np.int64(n) + own])
            amounts = np.concatenate([amounts, repeat * np.sqrt(values[liked])])
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, amounts, len(distinct)).astype(np.float32)
        of_rows, targets = np.divmod(distinct, max(n, 1))
        starts = np.searchsorted(of_rows, np.arange(len(histories) + 1))
        return FeatureTable.sparse(starts, targets.astype(np.int32), sums, n)


def _padded(table: FeatureTable, n_items: int) -> FeatureTable:
    indptr, indices, values = table.padded(n_items).arrays()
    return FeatureTable.sparse(indptr, indices, values, n_items)
