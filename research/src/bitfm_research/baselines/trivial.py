"""What a recommender has to beat: popularity and chance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from bitfm.data.blocks import Blocks, FieldSizes
from bitfm.models.base import FeatureModel
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bitfm_research.baselines._ids import IdRatings

__all__ = ["Popularity", "RandomScores"]


class Popularity(FeatureModel):
    """Score an item by how many ratings it has, whatever they are, for all users alike.

    It fits on `Blocks` of users and items with ids; other fields are ignored. Scores are counts, not ratings.

    Parameters
    ----------
    n_jobs : int, default -1
        Threads of `predict`; -1 is all. The result does not depend on it.

    Attributes
    ----------
    weights_ : array, one per feature
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
        with self._fitting():
            blocks, y, _ = self._training_data(X, y, None, fields)
            ratings = IdRatings.of(blocks, y, "Popularity")
            weights = np.zeros(blocks.n_features, np.float32)
            weights[ratings.item_columns] = np.bincount(ratings.items, minlength=ratings.n_items)
            self.bias_, self.weights_ = 0.0, weights
        return self


class RandomScores(FeatureModel):
    """Score each pair of a user and an item at random, evenly from 0 to 1, and the same pair always alike.

    It fits on `Blocks` of users and items with ids; other fields are ignored.

    Parameters
    ----------
    random_state : int, RandomState or None, default 0

    Attributes
    ----------
    weights_ : array, one per feature
        A random number for each id, 0 for other features. A score is a hash of the user's and the item's.
    bias_ : float
        0.
    fields_ : tuple of FieldSpan
    n_features_in_ : int

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import Block, Blocks
    >>> from bitfm_research.baselines import RandomScores
    >>> X = Blocks(user=Block([0, 1, 1], {"id": sp.identity(2)}), item=Block([0, 0, 0], {"id": sp.identity(2)}))
    >>> first, second, again = RandomScores().fit(X, [5, 3, 4]).predict(X)
    >>> bool(first != second == again)
    True
    """

    def __init__(self, *, random_state: Any = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, fields: FieldSizes | None = None) -> Self:
        """Draw a number for each user and each item.

        Parameters
        ----------
        X : Blocks of users and items, each with one field of ids; or a matrix, with `fields`
        y : ratings, which do not count
        fields : sizes of the fields, for a plain matrix; see `Blocks.from_matrix`
        """
        with self._fitting():
            self.__dict__.pop("weights_", None)  # of a fit to other blocks
            blocks, y, _ = self._training_data(X, y, None, fields)
            ratings = IdRatings.of(blocks, y, "RandomScores")
            rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
            weights = np.zeros(blocks.n_features)
            for columns, n in ((ratings.user_columns, ratings.n_users), (ratings.item_columns, ratings.n_items)):
                weights[columns] = rng.random(n)
            self.bias_, self.weights_ = 0.0, weights
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Score interactions.

        Parameters
        ----------
        X : Blocks, sparse matrix or dense array
            With the columns the model was fitted on.

        Returns
        -------
        array of float64, one score per interaction
        """
        check_is_fitted(self)
        blocks = self._prediction_blocks(X)
        state = np.zeros(len(blocks), np.uint64)
        for numbers in self._numbers(blocks):
            state = _mix(state ^ numbers.view(np.uint64))
        return (state >> np.uint64(11)).astype(np.float64) / 2.0**53

    def _numbers(self, blocks: Blocks) -> list[npt.NDArray[np.float64]]:
        """Return the random number of each interaction's user, and of its item."""
        spans = iter(blocks.fields)
        found = []
        for block in blocks.blocks.values():
            rows = np.zeros(block.n_rows)
            for table in block.tables.values():
                span = next(spans)
                rows += table.to_csr() @ np.asarray(self.weights_[span.start : span.stop], np.float64)
            found.append(rows[block.rows])
        return found

    def _across(self) -> bool:
        return hasattr(self, "weights_")  # so that a plain matrix is split into users and items


def _mix(state: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Return 64 bits of which each depends on all those given: the finisher of Steele's SplitMix64."""
    state = state + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))
