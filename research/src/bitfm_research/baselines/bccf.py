"""Binary codes for collaborative filtering: balanced factors, rotated, then signs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from bitfm.core import pack_signs
from bitfm.models.base import Floats, check_finite
from bitfm.models.progress import Progress
from bitfm.validation import check_integer, check_real

from bitfm_research.baselines._columns import Factorization
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._rotation import quantizing_rotation
from bitfm_research.baselines.id_codes import IdCodes, PackedCodes

__all__ = ["BCCF", "balanced_column"]


@dataclass(eq=False, repr=False, kw_only=True)
class BCCF(IdCodes):
    """Binary codes of Zhou and Zha, "Learning binary codes for collaborative filtering" (KDD 2012).

    Two stages. The first relaxes codes f, h ∈ {±1}^k to real factors that are pulled to balance:
    min Σ (r − ½ − ⟨f_i, h_j⟩ / 2k)² + λ (‖Σ_i f_i‖² + ‖Σ_j h_j‖²) with ratings scaled to [0, 1]. The second turns them
    by the rotation under which their signs lose least (ITQ), and takes the signs.

    Its `fit_log_` has the stages ``"relaxed"`` and ``"rotation"``.

    Parameters
    ----------
    bits, random_state, n_jobs, verbose
        As of `IdCodes`.
    balance : float, default 1e-5
        λ: how strongly each factor's sum over users, and over items, is pulled to 0.
    ridge : float, default 2.0
        Penalty of Σ ‖f_i‖² + Σ ‖h_j‖², without which users with few ratings have no unique factors. Both penalties are
        of f / √(2k), so that they mean the same at any number of bits.
    n_iter : int, default 8
        Sweeps over the factors at most.
    rotation_iter : int, default 50
        Iterations of the rotation at most.
    tol : float, default 1e-4
        Stop sweeping when a sweep lowers the objective by less than this share.

    Examples
    --------
    >>> from bitfm_research.baselines import BCCF
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> model = BCCF(bits=16, ridge=0.01).fit(X, [5, 1, 1, 5], fields=[2, 2])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    balance: float = 1e-5
    ridge: float = 2.0
    n_iter: int = 8
    rotation_iter: int = 50
    tol: float = 1e-4

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        rotation_iter = check_integer("rotation_iter", self.rotation_iter, 0)
        factors, stopped = self._relax(ratings, rng, progress)
        return pack_signs(quantizing_rotation(factors, rng, 0 if stopped else rotation_iter, progress))

    def _relax(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> tuple[Floats, bool]:
        """Return the factors, users over items, and whether the callback has stopped the fit."""
        balance, ridge = check_real("balance", self.balance), check_real("ridge", self.ridge, above=True)
        n_iter, tol = check_integer("n_iter", self.n_iter, 1), check_real("tol", self.tol)
        start = rng.standard_normal((self.bits, ratings.n_users + ratings.n_items)) * (0.5 / np.sqrt(self.bits))
        P, Q = start[:, : ratings.n_users].copy(), start[:, ratings.n_users :].copy()
        factorization = Factorization(ratings, ratings.scaled(-0.5, 0.5), P, Q)

        def rule(num: Floats, den: Floats, _: Floats) -> Floats:
            return balanced_column(num, den, balance, ridge)

        stopped = False
        for number in range(1, n_iter + 1):
            factorization.sweep(rule, rule)
            loss = factorization.loss()
            penalty = sum(balance * np.sum(V.sum(axis=1) ** 2) + ridge * np.sum(V * V) for V in (P, Q))
            check_finite("relaxed", number, loss + penalty)
            stopped = progress.report("relaxed", number, n_iter, loss, loss + float(penalty))
            if stopped or progress.settled(tol):
                break
        return np.hstack([P, Q]).T, stopped


def balanced_column(num: Floats, den: Floats, balance: float, ridge: float) -> Floats:
    """Return argmin Σ (den_i v_i² − 2 num_i v_i + ridge v_i²) + balance (Σ v_i)².

    Its gradient is 0 where v_i = (num_i − balance S) / (den_i + ridge) with S = Σ v_i. Summed over i that is one
    equation for S: S = Σ num_i / (den_i + ridge) / (1 + balance Σ 1 / (den_i + ridge)).
    """
    inverse = 1 / (den + ridge)
    total = np.sum(num * inverse) / (1 + balance * np.sum(inverse))
    return (num - balance * total) * inverse
