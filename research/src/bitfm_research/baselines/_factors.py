"""Real factors of users and items to make codes of, by a factorization machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from bitfm.models.base import FeatureModel, Floats, check_same_features
from bitfm.models.fm import FM
from bitfm.models.progress import Iteration, Progress
from sklearn.base import clone

from bitfm_research.baselines._ids import IdRatings

__all__ = ["check_machine", "factors_of"]

_RIDGE = 10.0  # chosen on a part of the training ratings of Yelp and Amazon
_NO_WEIGHTS = 1e12  # penalty of the weights: what they held would be lost to the codes


def check_machine(fm: Any, model: FeatureModel, rank: int | None) -> None:
    """Refuse what cannot give factors: of another rank, or of other features."""
    if not isinstance(fm, FM | None):
        raise ValueError(f"fm must be an FM or None, got {fm!r}.")
    if fm is not None and rank is not None and fm.rank != rank:
        raise ValueError(
            f"fm has rank {fm.rank!r}, but bits is {rank} and each is the sign of a factor; make them equal."
        )
    if fm is not None and hasattr(fm, "factors_"):
        check_same_features("fm", fm, model)


def factors_of(
    fm: FM | None, ratings: IdRatings, rank: int, rng: np.random.Generator, n_jobs: int | None, progress: Progress
) -> tuple[Floats, Floats]:
    """Return the factors of all users and of all items.

    A fitted machine is taken as it is; one that is not fitted gives the settings. By default it is one without weights:
    a code holds no weights, so all that is to be kept must be in the factors.
    """
    if fm is not None and hasattr(fm, "factors_"):
        return np.asarray(fm.factors_[ratings.user_columns]), np.asarray(fm.factors_[ratings.item_columns])
    if fm is None:
        fm = FM(rank=rank, regularization=_RIDGE, linear_regularization=_NO_WEIGHTS, pairs="across")
        fm.set_params(random_state=int(rng.integers(2**31)), n_jobs=n_jobs)
    fm = clone(fm)

    def forward(item: Iteration) -> bool:
        return progress.forward(item, item.stage)

    fm.fit(ratings.bare(), ratings.y, callback=forward)
    return fm.factors_[: ratings.n_users], fm.factors_[ratings.n_users :]
