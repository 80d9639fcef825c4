"""The discrete factorization machine: a code of bits for every feature."""

from __future__ import annotations

from dataclasses import replace
from numbers import Real
from typing import Any, Self

import numpy as np

from bitfm.data.blocks import Blocks, FieldSizes
from bitfm.models._anchored import AnchoredFit, AnchoredSettings
from bitfm.models._one_hot import split_one_hot
from bitfm.models._paper import PaperFit, PaperSettings, TargetScale
from bitfm.models._pull import JointDelegate
from bitfm.models.base import Floats, check_same_features
from bitfm.models.codes import CodeModel, in_single_precision
from bitfm.models.fm import FM
from bitfm.models.progress import Callback, Progress
from bitfm.validation import check_bits, check_choice, check_integer, check_real, thread_count

__all__ = ["DiscreteFM"]


class DiscreteFM(CodeModel):
    """Factorization machine with binary codes: ŷ = w0 + Σ w x + Σ_{i<j} g_i g_j ⟨b_i, b_j⟩ x_i x_j, b ∈ {±1}^bits.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    objective : {"anchored", "paper"}, default "anchored"
        ``"anchored"``: codes that say what a real-valued teacher says about all pairs of rows, seen or not, with a gain
        for every feature; about as accurate as the teacher. ``"paper"``: Eq. 4 of Liu et al. (IJCAI 2018): squared
        loss on targets scaled to ±2 bits, − 2β tr(BᵀD), with one gain for all features.
    teacher : FM, optional
        For ``"anchored"``. A fitted `FM` on the same features is taken as it is; one that is not fitted gives the
        settings. By default two are fitted, ``FM(rank=16, solver="gibbs")`` and one by coordinate descent, and what
        they say is averaged. The fitted model keeps none.
    anchor : float or "auto", default "auto"
        λ of ``"anchored"``: how much the teacher's word on all pairs counts against the error on the data. ``inf`` is
        pure distillation, 0 the data alone. ``"auto"`` chooses on the validation part.
    gains : {"feature", "field"}, default "feature"
        For ``"anchored"``: a gain for every feature, or one for all features of a field. A feature that never occurs
        has none.
    validation_fraction : float, default 0.1
        For ``"anchored"`` without a fitted teacher: the share of the interactions that is held out, in a first run, to
        choose λ and how much each field's gains count: more, less, or nothing where codes do not help. Then all are
        used. 0 does without, in less time.
    alpha : float, default 0.0
        α: ridge penalty of the weights (``"paper"``).
    beta : float, default 10.0
        β: how strongly the codes are pulled to balance and decorrelation (``"paper"``).
    linear : bool, default True
        Whether the model has a weight for every feature, and a bias beside the middle of the targets' range. ``False``
        leaves the codes alone (``"paper"``).
    init : {"relaxed", "random"}, default "relaxed"
        Signs of the solution of the relaxed problem (the paper's section on initialisation), or random codes
        (``"paper"``).
    init_iter : int, default 20
        Iterations of the relaxed problem at most (``"paper"``).
    max_iter : int, default 20
        Iterations over the codes at most.
    inner_iter : int, default 5
        Passes of discrete coordinate descent over a feature's bits at most. ``"paper"``: over the whole code where both
        sides are bare ids, over eight bits at a time otherwise.
    tol : float, default 1e-6
        Stop when an iteration lowers the objective by less than this share (``"paper"``).
    pairs : {"auto", "all", "across"}, default "auto"
        ``"all"`` pairs of features (Eq. 2), or only those from different blocks, ``"across"``. By default cross where
        codes are anchored and X has several blocks, else all.
    random_state : int, RandomState or None, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.
    verbose : int, default 0
        Print a line an iteration.

    Attributes
    ----------
    codes_ : array of uint8, features × bits / 8
        Bit t is bit t % 8 of byte t // 8; 1 is +1.
    gains_ : array of float32, one a feature
    weights_ : array, one a feature
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

    unsaved = ("teacher",)

    def __init__(
        self,
        bits: int = 64,
        *,
        objective: str = "anchored",
        teacher: FM | None = None,
        anchor: float | str = "auto",
        gains: str = "feature",
        validation_fraction: float = 0.1,
        alpha: float = 0.0,
        beta: float = 10.0,
        linear: bool = True,
        init: str = "relaxed",
        init_iter: int = 20,
        max_iter: int = 20,
        inner_iter: int = 5,
        tol: float = 1e-6,
        pairs: str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.bits = bits
        self.objective = objective
        self.teacher = teacher
        self.anchor = anchor
        self.gains = gains
        self.validation_fraction = validation_fraction
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
        y : targets, one an interaction
        fields : sizes of the fields, for a plain matrix; see `Blocks.from_matrix`
        callback : called with an `Iteration` after each iteration; returning True stops the fit
        """
        with self._all_or_nothing():
            for name in ("pairs_", "_saved_index"):  # of a fit to other blocks
                self.__dict__.pop(name, None)
            blocks, y, _ = self._training_data(X, y, None, fields)
            check_choice("objective", self.objective, ("anchored", "paper"))
            self.pairs_ = self._resolve_pairs(blocks)
            seed = self._seed()
            paper, anchored = self._paper_settings(), self._anchored_settings(seed)  # both checked, one used
            pull = JointDelegate(check_real("beta", self.beta, high=1e12))
            progress = Progress(self.verbose, callback)
            if self.objective == "paper":
                self._fit_paper(blocks, y, paper, pull, np.random.default_rng(seed), progress)
            else:
                self._fit_anchored(blocks, y, anchored, progress)
            self.fit_log_ = progress.history
            self.n_iter_ = len(self.fit_log_)
        return self

    def _resolve_pairs(self, blocks: Blocks) -> str:
        pairs = check_choice("pairs", self.pairs, ("auto", "all", "across"))
        if pairs != "auto":
            return pairs
        return "across" if self.objective == "anchored" and len(blocks.blocks) > 1 else "all"

    def _fit_paper(
        self,
        blocks: Blocks,
        y: Floats,
        settings: PaperSettings,
        pull: JointDelegate,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        if self.pairs_ == "all":
            blocks = split_one_hot(blocks)
        scale = TargetScale.of(y, settings.bits)
        fit = PaperFit(blocks, scale.to_codes(y), settings, pull, rng, progress)
        fit.run()
        self.codes_ = fit.codes
        self.gains_ = np.full(len(fit.codes), np.sqrt(scale.unit), np.float32)
        self.weights_ = in_single_precision(fit.weights * fit.weights.dtype.type(scale.unit))
        self.bias_ = scale.middle + fit.bias * scale.unit

    def _fit_anchored(self, blocks: Blocks, y: Floats, settings: AnchoredSettings, progress: Progress) -> None:
        if self.pairs_ == "all":
            blocks = split_one_hot(blocks)
            tables = [list(block.tables.values()) for block in blocks.blocks.values()]
            if len(tables) > 1 and all(len(of) == 1 and of[0].identity for of in tables):
                settings = replace(settings, cross=True)  # bare ids have no other pairs
        self.codes_, self.gains_, weights, self.bias_ = AnchoredFit(blocks, y, settings, progress).run()
        self.weights_ = in_single_precision(weights)

    def _paper_settings(self) -> PaperSettings:
        return PaperSettings(
            bits=check_bits(self.bits),
            alpha=check_real("alpha", self.alpha),
            relaxed=check_choice("init", self.init, ("relaxed", "random")) == "relaxed",
            init_iter=check_integer("init_iter", self.init_iter, 1),
            max_iter=check_integer("max_iter", self.max_iter, 0),
            inner_iter=check_integer("inner_iter", self.inner_iter, 1, 1000),
            tol=check_real("tol", self.tol),
            cross=self.pairs_ == "across",
            linear=self._has_linear_terms(),
            threads=thread_count(self.n_jobs),
        )

    def _has_linear_terms(self) -> bool:
        if not isinstance(self.linear, bool | np.bool_):
            raise ValueError(f"linear must be True or False, got {self.linear!r}.")
        if not self.linear and self.objective != "paper":
            raise ValueError("linear=False is for objective='paper'; anchored codes have their teacher's linear terms.")
        return bool(self.linear)

    def _anchored_settings(self, seed: int) -> AnchoredSettings:
        if not isinstance(self.teacher, FM | None):
            raise ValueError(f"teacher must be an FM or None, got {self.teacher!r}.")
        if not check_real("validation_fraction", self.validation_fraction) < 1:
            raise ValueError(f"validation_fraction must be from 0 up and below 1, got {self.validation_fraction!r}.")
        anchor = _check_anchor(self.anchor)
        if anchor not in (None, float("inf")) and self.objective == "anchored" and self.pairs_ == "all":
            raise ValueError(f"anchor {anchor!r} needs interactions across blocks; give Blocks, or leave it 'auto'.")
        shared = check_choice("gains", self.gains, ("feature", "field")) == "field"
        if shared and self.objective == "anchored" and self.pairs_ == "all":
            raise ValueError("gains 'field' needs interactions across blocks; give Blocks, or leave it 'feature'.")
        if self.teacher is not None and hasattr(self.teacher, "weights_"):
            check_same_features("teacher", self.teacher, self)
        return AnchoredSettings(
            bits=check_bits(self.bits),
            teacher=self.teacher,
            anchor=anchor,
            shared_gains=shared,
            validation_fraction=float(self.validation_fraction),
            max_iter=check_integer("max_iter", self.max_iter, 0),
            inner_iter=check_integer("inner_iter", self.inner_iter, 1, 1000),
            cross=self.pairs_ == "across",
            seed=seed,
            threads=thread_count(self.n_jobs),
        )


def _check_anchor(value: Any) -> float | None:
    """Return λ, or None if it is to be chosen."""
    if isinstance(value, str) and value == "auto":
        return None
    anchor = float(value) if isinstance(value, Real) and not isinstance(value, bool) else float("nan")
    if not 0 <= anchor <= 1e12 and anchor != float("inf"):
        raise ValueError(f"anchor must be 'auto', inf or a number from 0 to 1e12, got {value!r}.")
    return anchor
