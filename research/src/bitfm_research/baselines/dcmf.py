"""Discrete content-aware matrix factorization: codes of users and items, tied to their features."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from bitfm.models.base import Floats
from bitfm.models.progress import Progress
from bitfm.models.solvers.paper import ProximalTarget
from bitfm.validation import check_choice, check_real

from bitfm_research.baselines._bounded import BoundedFit
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._losses import Logit, Loss, Squared
from bitfm_research.baselines._sides import Content, Side, SidePulls
from bitfm_research.baselines.dcf import _MOST_PULL, DCF
from bitfm_research.baselines.id_codes import PackedCodes, least_squares_line

__all__ = ["DCMF"]

_SETTINGS = ("bits", "relaxed", "init_iter", "max_iter", "inner_iter", "tol", "threads")


@dataclass(eq=False, repr=False, kw_only=True)
class DCMF(DCF):
    """Discrete content-aware matrix factorization of Lian et al. (KDD 2017): regression and classification.

    Σ ℓ(r, ⟨b_i, d_j⟩) − 2α tr(BᵀP) − 2β tr(DᵀQ) as in `DCF`, and codes tied to linear projections of features:
    + λ₁ ‖B − XU‖² + λ₂ ‖D − YV‖² + γ₁ ‖U‖² + γ₂ ‖V‖²; and the interaction regularisation ρ Σ ⟨b_i, d_j⟩² over all
    pairs of a user and an item, which holds back the scores of what nobody has rated. It is ρ tr(BᵀB DᵀD), computed
    from two matrices of bits × bits. The loss ℓ is the squared one of ratings, or the logit loss of likes and events,
    log(1 + exp(−r x)) with r = ±1. The latter gives way before each step to the square above it that touches it there
    (Jaakkola and Jordan, 2000), so that each bit has a closed form and no step raises the objective.

    U and V follow the codes by conjugate gradients, and in the relaxed problem that gives the codes to start from
    (its initialisation) the real factors. The scores are those of the codes of users and items: features shape the
    codes and are not scored themselves. A side without fields beside its ids is as in `DCF`.

    Parameters
    ----------
    bits, alpha, beta, init, init_iter, max_iter, inner_iter, tol, random_state, n_jobs, verbose
        As of `DCF`.
    user_content, item_content : float, default 100.0
        λ₁ and λ₂: how strongly codes are tied to what features say.
    ridge : float, default 100.0
        γ₁ = γ₂: penalty of the projections.
    loss : {"squared", "logit"}, default "squared"
        Of ratings, or of likes: y above the middle of its range is liked. Where all y are alike they are events, all of
        them liked; then the interaction regularisation is what holds the scores of other pairs back.
    spread : float, default 2.0
        Ratings are scaled to ±spread · bits, and x = 2 ⟨b, d⟩ / (spread · bits): that of the published method,
        ⟨b, d⟩ itself, is a spread of 2 / bits. The logit loss counts 2 (spread · bits)² times, so that the other
        strengths mean the same beside both losses.
    interaction : float, default 0.3
        How strongly the products of all pairs are pulled to 0: ρ as a multiple of the share of pairs that are rated. At
        1, all pairs together count as much as the ratings, each of which counts 1. What is best differs
        between data sets: 0 on Yelp, 3 and more on MovieLens 1M, Douban and Amazon.

    Examples
    --------
    >>> from bitfm.datasets import make_bookshop
    >>> from bitfm_research.baselines import DCMF
    >>> shop = make_bookshop(200, 100, 4000)
    >>> X, y = shop.blocks(), shop.ratings["rating"]
    >>> model = DCMF(bits=32).fit(X, y)
    >>> model.user_codes_.shape
    (200, 4)
    >>> likes = y > 3
    >>> scores = DCMF(bits=32, loss="logit").fit(X, likes).predict(X)
    >>> bool(scores[likes].mean() > 0.5 > scores[~likes].mean())
    True
    """

    balance: str = field(default="sides", init=False)  # the only way here
    user_content: float = 100.0
    item_content: float = 100.0
    ridge: float = 100.0
    loss: str = "squared"
    interaction: float = 0.3

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        strength = check_real("interaction", self.interaction, high=_MOST_PULL)
        logit = check_choice("loss", self.loss, ("squared", "logit")) == "logit"
        if not logit and not strength:
            return super()._learn(ratings, rng, progress)
        scale = self._scale(ratings.y)
        loss: Loss = Squared(scale.to_codes(ratings.y))
        if logit:
            labels = np.where(ratings.y > scale.middle, 1.0, -1.0) if scale.unit > 0 else np.ones_like(ratings.y)
            loss = Logit(labels, self.spread * self.bits)
        strength *= len(ratings.y) / (ratings.n_users * ratings.n_items)
        known = self._settings()
        settings = {name: known[name] for name in _SETTINGS}
        fit = BoundedFit(ratings, loss, strength, self._pull(ratings), rng, progress, **settings)
        fit.run()
        return fit.codes

    def _line(self, y: Floats, products: Floats) -> tuple[float, float]:
        """Products are of likes, where they are learned from: the line nearest to the targets."""
        return least_squares_line(y, products) if self.loss == "logit" else super()._line(y, products)

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
