"""Signs of random projections of a factorization machine's factors."""

from __future__ import annotations

from typing import Any

import numpy as np
from bitfm.core import pack_signs, single_blas_thread
from bitfm.models.fm import FM
from bitfm.models.progress import Progress

from bitfm_research.baselines._base import IdCodes, PackedCodes
from bitfm_research.baselines._factors import check_machine, factors_of
from bitfm_research.baselines._ids import IdRatings

__all__ = ["RandomProjection"]

_RANK = 16


class RandomProjection(IdCodes):
    """Signs of real factors projected at random, b = sgn(Gᵀv) with Gaussian G.

    Karatzoglou, Smola and Weimer (AISTATS 2010) make the factors of users and items small by random projections. As a
    code this is locality-sensitive hashing: two factors agree in a bit with probability 1 − angle / π (Charikar, STOC
    2002), so the share of equal bits tells their angle, the better the more bits there are.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    fm : FM, optional
        A fitted `FM` on the same features, of any rank, is taken as it is; one that is not fitted gives the settings,
        and is fitted on the ids. By default ``FM(rank=16)`` by coordinate descent on the ids, without weights, so that
        the factors hold all that is learned.
    random_state : int, RandomState or None, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.
    verbose : int, default 0
        Print a line an iteration.

    Attributes
    ----------
    user_codes_, item_codes_ : arrays of uint8, ids × bits / 8
        Bit t is bit t % 8 of byte t // 8; 1 is +1.
    codes_, gains_, weights_, bias_
        The same as a `DiscreteFM` of all features, whose predictions are a rising line of ⟨b_user, b_item⟩.
    fit_log_ : list of Iteration
        Those of the machine.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import FM, Block, Blocks
    >>> from bitfm_research.baselines import RandomProjection
    >>> X = Blocks(user=Block([0, 0, 1, 1], {"id": sp.identity(2)}), item=Block([0, 1, 0, 1], {"id": sp.identity(2)}))
    >>> model = RandomProjection(bits=512, fm=FM(rank=4, regularization=0.1)).fit(X, [5, 1, 1, 5])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    def __init__(
        self,
        bits: int = 64,
        *,
        fm: FM | None = None,
        random_state: Any = 0,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.bits = bits
        self.fm = fm
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(
        self, ratings: IdRatings, rng: np.random.Generator, progress: Progress
    ) -> tuple[PackedCodes, PackedCodes]:
        check_machine(self.fm, self, None)
        factors = factors_of(self.fm, ratings, _RANK, rng, self.n_jobs, progress)
        G = rng.standard_normal((factors[0].shape[1], self.bits))
        with single_blas_thread():
            users, items = (pack_signs(V @ G) for V in factors)
        return users, items
