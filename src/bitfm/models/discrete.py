"""The discrete factorization machine of Liu et al. (IJCAI 2018): a code of bits for every feature."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from bitfm.data.blocks import FieldSizes
from bitfm.data.one_hot import split_one_hot
from bitfm.models.codes import CodeModel, in_single_precision
from bitfm.models.progress import Callback, Progress
from bitfm.models.solvers.paper import JointDelegate, PaperFit, PaperSettings, TargetScale
from bitfm.validation import check_bits, check_choice, check_integer, check_real, thread_count

__all__ = ["DiscreteFM"]


class DiscreteFM(CodeModel):
    """Factorization machine with binary codes, fitted to the ratings: ŷ = w0 + Σ w x + g² Σ_{i<j} ⟨b_i, b_j⟩ x_i x_j.

    It minimises Eq. 4 of Liu et al. (IJCAI 2018): squared loss on targets scaled to ±2 bits, − 2β tr(BᵀD), with
    b ∈ {±1}^bits and one gain g for all features. `DistilledFM` is usually more accurate.

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
    init_iter : int, default 20
        Iterations of the relaxed problem at most.
    max_iter : int, default 20
        Iterations over the codes at most.
    inner_iter : int, default 5
        Passes of discrete coordinate descent at most: over a feature's whole code where both sides are nothing but ids,
        over eight bits at a time otherwise.
    tol : float, default 1e-6
        Stop when an iteration lowers the objective by less than this share.
    pairs : {"all", "across"}, default "all"
        All pairs of features (Eq. 2), or only those from different blocks.
    random_state : int, RandomState or None, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.
    verbose : int, default 0
        Print one line per iteration.

    Attributes
    ----------
    codes_ : array of uint8, features × bits / 8
        Bit t is bit t % 8 of byte t // 8; 1 is +1.
    gains_ : array of float32, one per feature
    weights_ : array, one per feature
        Of float32, unless that cannot hold them.
    bias_ : float
    pairs_ : {"all", "across"}
        Which pairs the model has.
    delegate_ : array of float32, features × bits
        D, the balanced and decorrelated matrix nearest to the codes; computed when asked for.
    fit_log_ : list of Iteration
    fields_ : tuple of FieldSpan
    n_features_in_ : int
    n_iter_ : int

    Examples
    --------
    >>> from bitfm import DiscreteFM
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(200, 100, 4000)
    >>> X, y = shop.blocks(), shop.ratings["rating"]
    >>> model = DiscreteFM(bits=32).fit(X, y)
    >>> model.codes_.shape == (X.n_features, 4)
    True
    >>> model.predict(X[:3]).shape
    (3,)
    """

    def __init__(
        self,
        bits: int = 64,
        *,
        alpha: float = 0.0,
        beta: float = 10.0,
        linear: bool = True,
        init: str = "relaxed",
        init_iter: int = 20,
        max_iter: int = 20,
        inner_iter: int = 5,
        tol: float = 1e-6,
        pairs: str = "all",
        random_state: Any = 0,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.bits = bits
        self.alpha = alpha
        self.beta = beta
        self.linear = linear
        self.init = init
        self.init_iter = init_iter
        self.max_iter = max_iter
        self.inner_iter = inner_iter
        self.tol = tol
        self.pairs = pairs
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, *, fields: FieldSizes | None = None, callback: Callback | None = None) -> Self:
        """Learn codes, weights and bias.

        Parameters
        ----------
        X : Blocks, sparse matrix or dense array
        y : targets, one per interaction
        fields : sizes of the fields, for a plain matrix; see `Blocks.from_matrix`
        callback : called with an `Iteration` after each iteration; returning True stops the fit
        """
        with self._all_or_nothing():
            for name in ("pairs_", "saved_index"):  # of a fit to other blocks
                self.__dict__.pop(name, None)
            blocks, y, _ = self._training_data(X, y, None, fields)
            self.pairs_ = check_choice("pairs", self.pairs, ("all", "across"))
            settings = self._settings()
            delegate = JointDelegate(check_real("beta", self.beta, high=1e12))
            if self.pairs_ == "all":
                blocks = split_one_hot(blocks)
            scale = TargetScale.of(y, settings.bits)
            rng, progress = np.random.default_rng(self._seed()), Progress(self.verbose, callback)
            fit = PaperFit(blocks, scale.to_codes(y), settings, delegate, rng, progress)
            fit.run()
            self.codes_ = fit.codes
            self.gains_ = np.full(len(fit.codes), np.sqrt(scale.unit), np.float32)
            self.weights_ = in_single_precision(fit.weights * fit.weights.dtype.type(scale.unit))
            self.bias_ = scale.middle + fit.bias * scale.unit
            self.fit_log_ = progress.history
            self.n_iter_ = len(self.fit_log_)
        return self

    def _settings(self) -> PaperSettings:
        if not isinstance(self.linear, bool | np.bool_):
            raise ValueError(f"linear must be True or False, got {self.linear!r}.")
        return PaperSettings(
            bits=check_bits(self.bits),
            alpha=check_real("alpha", self.alpha),
            relaxed=check_choice("init", self.init, ("relaxed", "random")) == "relaxed",
            init_iter=check_integer("init_iter", self.init_iter, 1),
            max_iter=check_integer("max_iter", self.max_iter, 0),
            inner_iter=check_integer("inner_iter", self.inner_iter, 1, 1000),
            tol=check_real("tol", self.tol),
            cross=self.pairs_ == "across",
            linear=bool(self.linear),
            threads=thread_count(self.n_jobs),
        )
