"""What a recommender has to beat: popularity and chance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from bitfm.data.blocks import Blocks, FieldSizes
from bitfm.models.base import FeatureModel, Floats
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bitfm_research.baselines._ids import IdRatings

__all__ = ["Popularity", "RandomScores"]


class _ByIds(FeatureModel):
    """A weight for each id, from who rated what; ratings themselves do not count."""

    def fit(self, X: Any, y: Any, *, fields: FieldSizes | None = None) -> Self:
        """Give each id its weight.

        Parameters
        ----------
        X : Blocks of users and items, each with one field of ids; or a matrix, with `fields`
        y : ratings, which do not count
        fields : sizes of the fields, for a plain matrix; see `Blocks.from_matrix`
        """
        with self._fitting():
            self.__dict__.pop("weights_", None)  # of a fit to other blocks
            blocks, y, _ = self._training_data(X, y, None, fields)
            self.bias_, self.weights_ = 0.0, self._weights_of(IdRatings.of(blocks, y, type(self).__name__))
        return self

    def _weights_of(self, ratings: IdRatings) -> Floats:
        """Return a weight for every feature."""
        raise NotImplementedError


@dataclass(eq=False, repr=False, kw_only=True)
class Popularity(_ByIds):
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
    >>> from bitfm_research.baselines import Popularity
    >>> X = [[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> Popularity().fit(X, [5, 3, 4], fields=[2, 2]).predict(X)
    array([2., 2., 1.])
    """

    n_jobs: int | None = -1

    def _weights_of(self, ratings: IdRatings) -> Floats:
        weights = np.zeros(ratings.blocks.n_features, np.float32)
        weights[ratings.item_columns] = np.bincount(ratings.items, minlength=ratings.n_items)
        return weights


@dataclass(eq=False, repr=False, kw_only=True)
class RandomScores(_ByIds):
    """Score each pair of a user and an item at random, evenly from 0 to 1, and the same pair always alike.

    It fits on `Blocks` of users and items with ids; other fields are ignored. Its attributes are those of `Popularity`,
    with a random number for each id as its weight. A score is a hash of the user's and the item's.

    Parameters
    ----------
    random_state : int, RandomState or None, default 0

    Examples
    --------
    >>> from bitfm_research.baselines import RandomScores
    >>> X = [[1, 0, 1, 0], [0, 1, 1, 0], [0, 1, 1, 0]]  # two users, two items
    >>> first, second, again = RandomScores().fit(X, [5, 3, 4], fields=[2, 2]).predict(X)
    >>> bool(first != second == again)
    True
    """

    random_state: Any = 0

    def _weights_of(self, ratings: IdRatings) -> Floats:
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        weights = np.zeros(ratings.blocks.n_features)
        for columns, n in ((ratings.user_columns, ratings.n_users), (ratings.item_columns, ratings.n_items)):
            weights[columns] = rng.random(n)
        return weights

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """Return a score for every interaction of `Blocks`, or of a matrix with the columns of the fit."""
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
