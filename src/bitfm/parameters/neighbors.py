"""What the items in a history add to the scores of others."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bitfm.data.feature_table import FeatureTable

__all__ = ["Neighbors"]


@dataclass(frozen=True, eq=False)
class Neighbors:
    """score(u, j) = scale ⟨p_u, c_j⟩ + Σ S_ij over the items i in the history of u.

    Parameters
    ----------
    table : FeatureTable
        S, sources i × targets j, all above 0.
    scale : float
        What the product of vectors counts for beside it.

    Examples
    --------
    >>> table = FeatureTable.of("S", np.array([[0, 0.5, 0], [0, 0.25, 0.25], [0, 0, 0]]))
    >>> Neighbors(table, 1.0).sums(FeatureTable.of("history", np.array([[1, 1, 0], [0, 0, 1]]))).toarray()
    array([[0.  , 0.75, 0.25],
           [0.  , 0.  , 0.  ]], dtype=float32)
    """

    table: FeatureTable
    scale: float

    def sums(self, histories: FeatureTable) -> FeatureTable:
        """Return Σ S_ij, histories × targets, over the entries of each history that are above 0."""
        indptr, indices, values = histories.arrays()
        rows = np.repeat(np.arange(len(histories)), np.diff(indptr))[values > 0]
        sources = self.table.take(indices[values > 0].astype(np.int64))
        keys = np.repeat(rows, np.diff(sources.indptr)) * np.int64(self.table.n_columns) + sources.indices
        distinct, places = np.unique(keys, return_inverse=True)
        sums = np.bincount(places, sources.values, len(distinct)).astype(np.float32)
        of_rows, targets = np.divmod(distinct, max(self.table.n_columns, 1))
        starts = np.searchsorted(of_rows, np.arange(len(histories) + 1))
        return FeatureTable.sparse(starts, targets.astype(np.int32), sums, self.table.n_columns)
