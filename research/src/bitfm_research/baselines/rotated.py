"""Signs of a factorization machine's factors, after the rotation under which they lose least."""

from __future__ import annotations

from typing import Any

import numpy as np
from bitfm.core import pack_signs
from bitfm.models.fm import FM
from bitfm.models.progress import Progress
from bitfm.validation import check_integer

from bitfm_research.baselines._base import IdCodes, PackedCodes
from bitfm_research.baselines._factors import check_machine, factors_of
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._rotation import quantizing_rotation

__all__ = ["RotatedRounding"]


class RotatedRounding(IdCodes):
    """Signs of real factors that are first turned by iterative quantization (ITQ), b = sgn(Qᵀv).

    A rotation changes no inner product of factors, so they can be turned to where their signs are nearest:
    min ‖B − V Q‖² over codes B and orthogonal Q (Gong and Lazebnik, CVPR 2011, Eq. 2), users and items together.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    fm : FM, optional
        As for `SignRounding`: where the factors come from.
    rotation_iter : int, default 50
        Iterations of the rotation at most.
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
        Those of the machine, then ``"rotation"``.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm import FM, Block, Blocks
    >>> from bitfm_research.baselines import RotatedRounding
    >>> X = Blocks(user=Block([0, 0, 1, 1], {"id": sp.identity(2)}), item=Block([0, 1, 0, 1], {"id": sp.identity(2)}))
    >>> model = RotatedRounding(bits=16, fm=FM(rank=16, regularization=0.1)).fit(X, [5, 1, 1, 5])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    def __init__(
        self,
        bits: int = 64,
        *,
        fm: FM | None = None,
        rotation_iter: int = 50,
        random_state: Any = 0,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.bits = bits
        self.fm = fm
        self.rotation_iter = rotation_iter
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _learn(
        self, ratings: IdRatings, rng: np.random.Generator, progress: Progress
    ) -> tuple[PackedCodes, PackedCodes]:
        check_machine(self.fm, self, self.bits)
        rotation_iter = check_integer("rotation_iter", self.rotation_iter, 0)
        users, items = factors_of(self.fm, ratings, self.bits, rng, self.n_jobs, progress)
        codes = pack_signs(quantizing_rotation(np.concatenate([users, items]), rng, rotation_iter, progress))
        return codes[: len(users)], codes[len(users) :]
