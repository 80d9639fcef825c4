"""Discrete content-aware matrix factorization: codes of users and items, tied to their features."""

from __future__ import annotations

from dataclasses import dataclass, field

import scipy.sparse as sp
from bitfm.models.solvers.paper import ProximalTarget
from bitfm.validation import check_real

from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._sides import Content, Side, SidePulls
from bitfm_research.baselines.dcf import _MOST_PULL, DCF

__all__ = ["DCMF"]


@dataclass(eq=False, repr=False, kw_only=True)
class DCMF(DCF):
    """Discrete content-aware matrix factorization of Lian et al. (KDD 2017), with its squared loss.

    That of `DCF`, and codes tied to linear projections of features: + λ₁ ‖B − XU‖² + λ₂ ‖D − YV‖² + γ₁ ‖U‖² + γ₂ ‖V‖².
    U and V follow the codes by conjugate gradients, and in the relaxed problem that gives the codes to start from
    (its initialisation) the real factors. The scores are those of the codes of users and items: features shape the
    codes and are not scored themselves. A side without fields beside its ids is as in `DCF`.

    Parameters
    ----------
    bits, alpha, beta, spread, init, init_iter, max_iter, inner_iter, tol, random_state, n_jobs, verbose
        As of `DCF`.
    user_content, item_content : float, default 100.0
        λ₁ and λ₂: how strongly codes are tied to what features say.
    ridge : float, default 100.0
        γ₁ = γ₂: penalty of the projections.

    Examples
    --------
    >>> from bitfm.datasets import make_bookshop
    >>> from bitfm_research.baselines import DCMF
    >>> shop = make_bookshop(200, 100, 4000)
    >>> X, y = shop.blocks(), shop.ratings["rating"]
    >>> model = DCMF(bits=32).fit(X, y)
    >>> model.user_codes_.shape
    (200, 4)
    """

    balance: str = field(default="sides", init=False)  # the only way here
    user_content: float = 100.0
    item_content: float = 100.0
    ridge: float = 100.0

    def _pull(self, ratings: IdRatings) -> ProximalTarget:
        sides, start = [], 0
        of_sides = (("alpha", "user_content", ratings.n_users), ("beta", "item_content", ratings.n_items))
        ridge = check_real("ridge", self.ridge, above=True, high=_MOST_PULL)
        for name, (balance, weight, n) in zip(ratings.names, of_sides, strict=True):
            tied = check_real(weight, getattr(self, weight), high=_MOST_PULL)
            features = _features(ratings, name)
            content = Content(features, tied, ridge, self.bits) if tied and features is not None else None
            pulled = check_real(balance, getattr(self, balance), high=_MOST_PULL)
            sides.append(Side(slice(start, start + n), pulled, content))
            start += n
        return SidePulls(sides)


def _features(ratings: IdRatings, name: str) -> sp.csr_matrix | None:
    """Return all fields of a side, but for its ids, side by side."""
    tables = ratings.blocks.blocks[name].tables
    parts = [table.to_csr() for table in tables.values() if not table.identity]
    return sp.hstack(parts, format="csr", dtype="float32") if parts else None
