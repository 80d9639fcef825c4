"""Recommending what many have rated: the least a recommender has to beat."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from bitfm.data.blocks import FieldSizes
from bitfm.models.base import FeatureModel

from bitfm_research.baselines._ids import IdRatings

__all__ = ["Popularity"]


class Popularity(FeatureModel):
    """Score an item by how many ratings it has, whatever they are, for all users alike.

    It fits on `Blocks` of users and items with ids; other fields are ignored. Scores are counts, not ratings.

    Parameters
    ----------
    n_jobs : int, default -1
        Threads of `predict`; -1 is all. The result does not depend on it.

    Attributes
    ----------
    weights_ : array, one a feature
        The count of an item's id, 0 for all others.
    bias_ : float
        0.
    fields_ : tuple of FieldSpan
    n_features_in_ : int

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import Block, Blocks
    >>> from bitfm_research.baselines import Popularity
    >>> X = Blocks(user=Block([0, 1, 1], {"id": sp.identity(2)}), item=Block([0, 0, 1], {"id": sp.identity(2)}))
    >>> Popularity().fit(X, [5, 3, 4]).predict(X)
    array([2., 2., 1.])
    """

    def __init__(self, *, n_jobs: int | None = -1) -> None:
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, *, fields: FieldSizes | None = None) -> Self:
        """Count each item's ratings.

        Parameters
        ----------
        X : Blocks of users and items, each with one field of ids; or a matrix, with `fields`
        y : ratings, which do not count
        fields : sizes of the fields, for a plain matrix; see `Blocks.from_matrix`
        """
        with self._all_or_nothing():
            blocks, y, _ = self._training_data(X, y, None, fields)
            ratings = IdRatings.of(blocks, y, "Popularity")
            weights = np.zeros(blocks.n_features, np.float32)
            weights[ratings.item_columns] = np.bincount(ratings.items, minlength=ratings.n_items)
            self.bias_, self.weights_ = 0.0, weights
        return self
