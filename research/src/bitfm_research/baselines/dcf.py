"""Discrete collaborative filtering: codes of users and items, learned as codes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from bitfm.models.base import Floats
from bitfm.models.progress import Progress
from bitfm.models.solvers.paper import JointDelegate, PaperFit, ProximalTarget, TargetScale
from bitfm.validation import check_bits, check_choice, check_integer, check_real, thread_count

from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._sides import Side, SidePulls
from bitfm_research.baselines.id_codes import IdCodes, PackedCodes

__all__ = ["DCF"]

_MOST_PULL = 1e12


@dataclass(eq=False, repr=False, kw_only=True)
class DCF(IdCodes):
    """Discrete collaborative filtering of Zhang et al. (SIGIR 2016), with soft balance and decorrelation.

    min Σ (s − ⟨b_i, d_j⟩)² − 2α tr(BᵀX) − 2β tr(DᵀY) over codes b, d ∈ {±1}^k and balanced, decorrelated X and Y, with
    scaled ratings s. Bits are learned by discrete coordinate descent, from the signs of the relaxed problem
    (its initialisation). It is a `DiscreteFM` of ids with ``linear=False``,
    but with one delegate per side.

    Its `fit_log_` has the stages ``"relaxed"`` and ``"codes"``.

    Parameters
    ----------
    bits, random_state, n_jobs, verbose
        As of `IdCodes`.
    alpha, beta : float, default 1.0
        How strongly the codes of users, and those of items, are pulled to balance and decorrelation.
    spread : float, default 2.0
        Ratings are scaled to ±spread · bits. ⟨b, d⟩ reaches ±bits, to which the published method scales; twice as much,
        as in the code of DFM's authors, ranks a little better on validation data.
    balance : {"sides", "all"}, default "sides"
        Users and items balanced and decorrelated each by themselves, as published; or all together, as in `DiscreteFM`,
        by β alone.
    init : {"relaxed", "random"}, default "relaxed"
        Signs of the solution of the relaxed problem, or random codes.
    init_iter : int, default 20
        Iterations of the relaxed problem at most.
    max_iter : int, default 20
        Iterations over the codes at most.
    inner_iter : int, default 5
        Passes of discrete coordinate descent over a code's bits at most.
    tol : float, default 1e-6
        Stop when an iteration lowers the objective by less than this share.

    Examples
    --------
    >>> from bitfm_research.baselines import DCF
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> model = DCF(bits=16).fit(X, [5, 1, 1, 5], fields=[2, 2])
    >>> model.predict(X) > 3
    array([ True, False, False,  True])
    """

    alpha: float = 1.0
    beta: float = 1.0
    spread: float = 2.0
    balance: str = "sides"
    init: str = "relaxed"
    init_iter: int = 20
    max_iter: int = 20
    inner_iter: int = 5
    tol: float = 1e-6

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        targets = self._scale(ratings.y).to_codes(ratings.y)
        fit = PaperFit(ratings.bare(), targets, self._pull(ratings), rng, progress, **self._settings())
        fit.run()
        return fit.codes

    def _pull(self, ratings: IdRatings) -> ProximalTarget:
        alpha = check_real("alpha", self.alpha, high=_MOST_PULL)
        beta = check_real("beta", self.beta, high=_MOST_PULL)
        if check_choice("balance", self.balance, ("sides", "all")) == "all":
            return JointDelegate(beta)
        users = slice(0, ratings.n_users)
        return SidePulls([Side(users, alpha), Side(slice(users.stop, users.stop + ratings.n_items), beta)])

    def _scale(self, y: Floats) -> TargetScale:
        return TargetScale.of(y, self.bits, check_real("spread", self.spread, above=True, high=1e6))

    def _line(self, y: Floats, products: Floats) -> tuple[float, float]:
        """Undo the scale of the targets; constant ones have none."""
        scale = self._scale(y)
        return (scale.middle, scale.unit) if scale.unit > 0 else super()._line(y, products)

    def _settings(self) -> dict[str, Any]:
        return {
            "bits": check_bits(self.bits),
            "alpha": 0.0,
            "relaxed": check_choice("init", self.init, ("relaxed", "random")) == "relaxed",
            "init_iter": check_integer("init_iter", self.init_iter, 1),
            "max_iter": check_integer("max_iter", self.max_iter, 0),
            "inner_iter": check_integer("inner_iter", self.inner_iter, 1, 1000),
            "tol": check_real("tol", self.tol),
            "across": True,
            "linear": False,
            "threads": thread_count(self.n_jobs),
        }
