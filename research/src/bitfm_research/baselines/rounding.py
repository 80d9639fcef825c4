"""Signs of a factorization machine's factors: as they are, rotated, or projected at random."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from bitfm.core import pack_signs
from bitfm.models import FM, Iteration
from bitfm.models.base import Floats, check_same_features
from bitfm.models.progress import Progress
from bitfm.validation import check_integer
from sklearn.base import clone

from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._rotation import quantizing_rotation
from bitfm_research.baselines.id_codes import IdCodes, PackedCodes
from bitfm_research.blas import single_blas_thread

__all__ = ["RandomProjection", "RotatedRounding", "SignRounding"]

_RANK = 16
_RIDGE = 10.0  # chosen on a part of the training ratings of Yelp and Amazon, in the units of the ratings
_NO_WEIGHTS = 1e12  # penalty of the weights: what they held would be lost to the codes


@dataclass(eq=False, repr=False, kw_only=True)
class _OfFactors(IdCodes):
    """Codes made of the factors of an FM."""

    unsaved = ("fm",)

    fm: FM | None = None

    def _factors(
        self, ratings: IdRatings, rng: np.random.Generator, progress: Progress, any_rank: int | None = None
    ) -> tuple[Floats, Floats]:
        """Return the factors of all users and of all items: one per bit, or by default `any_rank`.

        By default the FM has no weights: a code holds none, so all that is to be kept must be in the factors.
        """
        fm: Any = self.fm
        if not isinstance(fm, FM | None):
            raise ValueError(f"fm must be an FM or None, got {fm!r}.")
        if fm is not None and any_rank is None and fm.rank != self.bits:
            raise ValueError(
                f"fm has rank {fm.rank!r}, but bits is {self.bits} and each is the sign of a factor; make them equal."
            )
        if fm is not None and hasattr(fm, "factors_"):
            check_same_features("fm", fm, self)
            return np.asarray(fm.factors_[ratings.user_columns]), np.asarray(fm.factors_[ratings.item_columns])
        if fm is None:
            fm = FM(any_rank or self.bits, regularization=_RIDGE, linear_regularization=_NO_WEIGHTS, pairs="across")
            fm.set_params(scale_targets=False, random_state=int(rng.integers(2**31)), n_jobs=self.n_jobs)
        fm = clone(fm)

        def forward(item: Iteration) -> bool:
            return progress.forward(item, item.stage)

        fm.fit(ratings.bare(), ratings.y, callback=forward)
        return fm.factors_[: ratings.n_users], fm.factors_[ratings.n_users :]


@dataclass(eq=False, repr=False, kw_only=True)
class SignRounding(_OfFactors):
    """Signs of real factors, b = sgn(v): the simplest way from factors to codes, and the one that loses most.

    Liu et al. (IJCAI 2018, section 2) name this loss as the reason to learn codes as codes.

    Parameters
    ----------
    bits, random_state, n_jobs, verbose
        As of `IdCodes`.
    fm : FM, optional
        A fitted `FM` of rank `bits` on the same features is taken as it is; one that is not fitted gives the settings,
        and is fitted on the ids. By default ``FM(rank=bits)`` by coordinate descent on the ids, without weights, so
        that the factors hold all that is learned.

    Examples
    --------
    >>> from bitfm import FM
    >>> from bitfm_research.baselines import SignRounding
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> model = SignRounding(bits=16, fm=FM(rank=16, regularization=0.1)).fit(X, [5, 1, 1, 5], fields=[2, 2])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        return pack_signs(np.concatenate(self._factors(ratings, rng, progress)))


@dataclass(eq=False, repr=False, kw_only=True)
class RotatedRounding(_OfFactors):
    """Signs of real factors that are first turned by iterative quantization (ITQ), b = sgn(Qᵀv).

    A rotation changes no inner product of factors, so they can be turned to where their signs are nearest:
    min ‖B − V Q‖² over codes B and orthogonal Q (Gong and Lazebnik, CVPR 2011, Eq. 2), users and items together.

    Its `fit_log_` has the iterations of the FM, then the stage ``"rotation"``.

    Parameters
    ----------
    bits, random_state, n_jobs, verbose
        As of `IdCodes`.
    fm : FM, optional
        As for `SignRounding`: where the factors come from.
    rotation_iter : int, default 50
        Iterations of the rotation at most.

    Examples
    --------
    >>> from bitfm import FM
    >>> from bitfm_research.baselines import RotatedRounding
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> model = RotatedRounding(bits=16, fm=FM(rank=16, regularization=0.1)).fit(X, [5, 1, 1, 5], fields=[2, 2])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    rotation_iter: int = 50

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        rotation_iter = check_integer("rotation_iter", self.rotation_iter, 0)
        factors = np.concatenate(self._factors(ratings, rng, progress))
        return pack_signs(quantizing_rotation(factors, rng, rotation_iter, progress))


@dataclass(eq=False, repr=False, kw_only=True)
class RandomProjection(_OfFactors):
    """Signs of real factors projected at random, b = sgn(Gᵀv) with Gaussian G.

    Karatzoglou, Smola and Weimer (AISTATS 2010) make the factors of users and items small by random projections. As a
    code this is locality-sensitive hashing: two factors agree in a bit with probability 1 − angle / π (Charikar, STOC
    2002), so the share of equal bits tells their angle, the better the more bits there are.

    Parameters
    ----------
    bits, random_state, n_jobs, verbose
        As of `IdCodes`.
    fm : FM, optional
        As for `SignRounding`, but of any rank; by default 16.

    Examples
    --------
    >>> from bitfm import FM
    >>> from bitfm_research.baselines import RandomProjection
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> model = RandomProjection(bits=512, fm=FM(rank=4, regularization=0.1)).fit(X, [5, 1, 1, 5], fields=[2, 2])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        factors = self._factors(ratings, rng, progress, _RANK)
        G = rng.standard_normal((factors[0].shape[1], self.bits))
        with single_blas_thread():
            return pack_signs(np.concatenate([V @ G for V in factors]))
