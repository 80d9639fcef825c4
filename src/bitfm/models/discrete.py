"""The discrete factorization machine of Liu et al. (IJCAI 2018): a code of bits for every feature."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from bitfm.data.blocks import Blocks, FieldSizes
from bitfm.data.one_hot import split_one_hot
from bitfm.models.base import Floats
from bitfm.models.codes import CodeModel, in_single_precision
from bitfm.models.progress import Callback, Progress
from bitfm.models.solvers.event_pairs import EventPairs, check_events
from bitfm.models.solvers.paper import JointDelegate, PaperFit, TargetScale
from bitfm.validation import check_bits, check_choice, check_integer, check_real, thread_count

__all__ = ["DiscreteFM"]


@dataclass(eq=False, repr=False)
class DiscreteFM(CodeModel):
    """Factorization machine with binary codes, fitted to the ratings: ŷ = w0 + Σ w x + g² Σ_{i<j} ⟨b_i, b_j⟩ x_i x_j.

    It minimises Eq. 4 of Liu et al. (IJCAI 2018): squared loss on targets scaled to ±2 bits, − 2β tr(BᵀD), with
    b ∈ {±1}^bits and one gain g for all features. `DistilledFM` is usually more accurate. Its attributes are those of
    `bitfm.models.CodeModel`: ``codes_``, ``gains_``, ``weights_``, ``bias_``, ``fit_log_``.

    For events ``loss="bpr"`` ranks instead, after Zhang, Lian and Yang (AAAI 2017): the squared loss is that of
    1 − (the score of the item chosen − that of an item not chosen). `ImplicitFM` is usually more accurate.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    alpha : float, default 0.0
        α: ridge penalty of the weights.
    beta : float, default 10.0
        β: how strongly the codes are drawn to balance and decorrelation.
    linear : bool, default True
        Whether the model has a weight for every feature, and a bias beside the middle of the targets' range. ``False``
        leaves the codes alone.
    init : {"relaxed", "random"}, default "relaxed"
        Signs of the solution of the relaxed problem (the paper's section on initialisation), or random codes.
    init_iter, max_iter : int, default 20
        Iterations of the relaxed problem, and over the codes, at most.
    inner_iter : int, default 5
        Passes of discrete coordinate descent at most: over a feature's whole code where both sides are nothing but ids,
        over eight bits at a time otherwise.
    tol : float, default 1e-6
        Stop when an iteration lowers the objective by less than this share.
    pairs : {"all", "across"}, default "all"
        All pairs of features (Eq. 2), or only those from different blocks.
    loss : {"squared", "bpr"}, default "squared"
        Squared error of ratings; or of the difference of two items' scores. Then each interaction is an event (`y` is
        left out, or all 1), each row of the block ``"item"``, or else the last, is an item, and items with several
        features need ``pairs="across"``. Each pair of items is a row of its own, which takes memory.
    negatives : int, default 8
        With ``loss="bpr"``, how many items are drawn against each event.
    random_state, n_jobs, verbose
        As for `FM`.

    Examples
    --------
    >>> from bitfm import DiscreteFM
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(200, 100, 4000)
    >>> model = DiscreteFM(bits=32).fit(shop.blocks(), shop.ratings["rating"])
    >>> model.codes_.shape == (model.n_features_in_, 4)
    True
    >>> liked = shop.blocks()[shop.ratings["rating"] >= 4]
    >>> DiscreteFM(bits=32, loss="bpr", pairs="across").fit(liked).predict(liked[:2]).shape
    (2,)
    """

    bits: int = 64
    _: KW_ONLY
    alpha: float = 0.0
    beta: float = 10.0
    linear: bool = True
    init: str = "relaxed"
    init_iter: int = 20
    max_iter: int = 20
    inner_iter: int = 5
    tol: float = 1e-6
    pairs: str = "all"
    loss: str = "squared"
    negatives: int = 8
    random_state: Any = 0
    n_jobs: int | None = -1
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, *, fields: FieldSizes | None = None, callback: Callback | None = None) -> Self:
        """Learn codes, weights and bias; the parameters are those of `FM.fit`, but that ``"bpr"`` needs no `y`."""
        if y is None and self.loss == "bpr":
            y = np.ones(np.shape(X)[:1])
        return super().fit(X, y, fields=fields, callback=callback)

    def _fit(self, blocks: Blocks, y: Floats, progress: Progress) -> None:
        self.pairs_ = check_choice("pairs", self.pairs, ("all", "across"))
        ranks = check_choice("loss", self.loss, ("squared", "bpr")) == "bpr"
        if not isinstance(self.linear, bool | np.bool_):
            raise ValueError(f"linear must be True or False, got {self.linear!r}.")
        if self.pairs_ == "all":
            blocks = split_one_hot(blocks)
        bits, rng = check_bits(self.bits), np.random.default_rng(self._seed())
        if ranks:
            check_events(y)
            pairs = EventPairs.draw(blocks, check_integer("negatives", self.negatives, 1), rng)
            if self.pairs_ == "all" and pairs.same_side:
                what = "loss='bpr' learns no pairs of features of one item, but the items have several"
                raise ValueError(f"{what}; give pairs='across'.")
            blocks, features = pairs.blocks, pairs.features
            scale, targets = TargetScale(0.0, 1 / (2 * bits)), np.full(len(blocks), 2.0 * bits)
        else:
            scale, features = TargetScale.of(y, bits), np.arange(blocks.n_features)
            targets = scale.to_codes(y)
        fit = PaperFit(
            blocks,
            targets,
            JointDelegate(check_real("beta", self.beta, high=1e12)),
            rng,
            progress,
            bits=bits,
            alpha=check_real("alpha", self.alpha),
            relaxed=check_choice("init", self.init, ("relaxed", "random")) == "relaxed",
            init_iter=check_integer("init_iter", self.init_iter, 1),
            max_iter=check_integer("max_iter", self.max_iter, 0),
            inner_iter=check_integer("inner_iter", self.inner_iter, 1, 1000),
            tol=check_real("tol", self.tol),
            across=ranks or self.pairs_ == "across",
            linear=bool(self.linear),
            threads=thread_count(self.n_jobs),
            ranks=ranks,
        )
        fit.run()
        column = np.argsort(features)
        self.codes_ = fit.codes[column]
        self.gains_ = np.full(len(fit.codes), np.sqrt(scale.unit), np.float32)
        self.weights_ = in_single_precision(fit.weights[column] * fit.weights.dtype.type(scale.unit))
        self.bias_ = scale.middle + fit.bias * scale.unit
