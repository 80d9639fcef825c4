"""The discrete factorization machine: a code of bits for every feature."""

from __future__ import annotations

import os
from dataclasses import replace
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bitfm import _core
from bitfm.data.blocks import Blocks, FieldSizes
from bitfm.models._anchored import AnchoredFit, AnchoredSettings
from bitfm.models._base import (
    FeatureModel,
    Floats,
    check_bits,
    check_choice,
    check_real,
    check_whole,
    thread_count,
)
from bitfm.models._delegate import nearest_delegate, unpack_codes
from bitfm.models._explain import Explanation, explain_row
from bitfm.models._half import pair_blocks
from bitfm.models._native import as_reals, split_one_hot
from bitfm.models._pairs import pair_scorer
from bitfm.models._paper import PaperFit, PaperSettings, TargetScale
from bitfm.models._progress import Callback, Iteration, Progress
from bitfm.models.fm import FM

if TYPE_CHECKING:
    from bitfm.retrieval import Index

__all__ = ["DiscreteFM"]


class DiscreteFM(FeatureModel):
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
    interactions : {"auto", "all", "cross"}, default "auto"
        ``"all"`` pairs of features (Eq. 2), or only those from different blocks, ``"cross"``. By default cross where
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
    interactions_ : {"all", "cross"}
        Which pairs the model has.
    delegate_ : array of float32, features × bits
        D, the balanced and decorrelated matrix nearest to the codes; computed when asked for.
    history_ : list of Iteration
    fields_ : tuple of FieldSpan
    n_features_in_ : int
    n_iter_ : int

    Examples
    --------
    >>> from bitfm import DiscreteFM
    >>> from bitfm.data import make_bookshop
    >>> shop = make_bookshop(200, 100, 4000)
    >>> X, y = shop.blocks(), shop.ratings["rating"]
    >>> model = DiscreteFM(bits=32).fit(X, y)
    >>> model.codes_.shape == (X.n_features, 4)
    True
    >>> model.predict(X[:3]).shape
    (3,)
    """

    _saved_index: Index | None = None  # what the model's file held beside it

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
        init: str = "relaxed",
        init_iter: int = 20,
        max_iter: int = 20,
        inner_iter: int = 5,
        tol: float = 1e-6,
        interactions: str = "auto",
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
        self.init = init
        self.init_iter = init_iter
        self.max_iter = max_iter
        self.inner_iter = inner_iter
        self.tol = tol
        self.interactions = interactions
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # codes are made for ratings by features
        return tags

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
            for name in ("interactions_", "_saved_index"):  # of a fit to other blocks
                self.__dict__.pop(name, None)
            blocks, y, _ = self._training_data(X, y, None, fields)
            check_choice("objective", self.objective, ("anchored", "paper"))
            self.interactions_ = self._resolve_interactions(blocks)
            seed = self._seed()
            paper, anchored = self._paper_settings(seed), self._anchored_settings(seed)  # both checked, one used
            progress = Progress(self.verbose, callback)
            if self.objective == "paper":
                self._fit_paper(blocks, y, paper, progress)
            else:
                self._fit_anchored(blocks, y, anchored, progress)
            self.history_: list[Iteration] = progress.history
            self.n_iter_ = len(self.history_)
        return self

    def _resolve_interactions(self, blocks: Blocks) -> str:
        interactions = check_choice("interactions", self.interactions, ("auto", "all", "cross"))
        if interactions != "auto":
            return interactions
        return "cross" if self.objective == "anchored" and len(blocks.blocks) > 1 else "all"

    def _fit_paper(self, blocks: Blocks, y: Floats, settings: PaperSettings, progress: Progress) -> None:
        if self.interactions_ == "all":
            blocks = split_one_hot(blocks)
        scale = TargetScale.of(y, settings.bits)
        fit = PaperFit(blocks, scale.to_codes(y), settings, progress)
        fit.run()
        self.codes_ = fit.codes
        self.gains_ = np.full(len(fit.codes), np.sqrt(scale.unit), np.float32)
        self.weights_ = _single(fit.weights * fit.weights.dtype.type(scale.unit))
        self.bias_ = scale.middle + fit.bias * scale.unit

    def _fit_anchored(self, blocks: Blocks, y: Floats, settings: AnchoredSettings, progress: Progress) -> None:
        if self.interactions_ == "all":
            blocks = split_one_hot(blocks)
            tables = [list(block.tables.values()) for block in blocks.blocks.values()]
            if len(tables) > 1 and all(len(of) == 1 and of[0].identity for of in tables):
                settings = replace(settings, cross=True)  # bare ids have no other pairs
        self.codes_, self.gains_, weights, self.bias_ = AnchoredFit(blocks, y, settings, progress).run()
        self.weights_ = _single(weights)

    @property
    def delegate_(self) -> npt.NDArray[np.float32]:
        """D, the balanced and decorrelated matrix nearest to the codes.

        It is computed when asked for: the fitted model is its codes, gains, weights and bias.
        """
        check_is_fitted(self)
        threads = thread_count(self.n_jobs)
        return nearest_delegate(np.asarray(self.codes_), np.random.default_rng(0), n_threads=threads).matrix

    def explain(self, x: Any) -> Explanation:
        """Take one row's score apart: the contribution of every feature and of every pair.

        Parameters
        ----------
        x : Blocks of one interaction, sparse or dense matrix of one row, or a one-dimensional array

        Examples
        --------
        >>> from bitfm import DiscreteFM
        >>> from bitfm.data import make_bookshop
        >>> shop = make_bookshop(200, 100, 4000)
        >>> X, y = shop.blocks(), shop.ratings["rating"]
        >>> model = DiscreteFM(bits=32).fit(X, y)
        >>> why = model.explain(X[0])
        >>> bool(abs(why.score - model.predict(X[0])[0]) < 1e-4)
        True
        """
        check_is_fitted(self)
        if not isinstance(x, Blocks) and getattr(x, "ndim", 2) == 1:
            x = np.asarray(x)[None, :]
        blocks = self._prediction_blocks(x)
        if len(blocks) != 1:
            raise ValueError(f"explain takes one interaction, got {len(blocks)}; pass X[i].")
        return explain_row(
            blocks.to_csr(),
            self.fields_,
            self.bias_,
            self.weights_,
            self._factors_of,
            self.interactions_ == "cross",
        )

    def index(
        self,
        items: Any = None,
        *,
        block: str | None = None,
        mode: str = "exact",
        bits: int = 64,
        rescore: int = 50,
    ) -> Index:
        """Lay out items for a search of the best for a user, exact by default.

        Parameters
        ----------
        items : Block, or array of int where items are bare ids, optional
            One item an interaction. By default the index that was saved with the model, or else all items that the
            model was fitted on, where these are bare ids.
        block : str, optional
            Which of the model's blocks the items are; by default ``"item"``, or else the last. All others together are
            the queries: the users, and the context.
        mode : {"exact", "codes", "auto"}, default "exact"
            For items with several features, each of which is a vector. ``"codes"`` gives each a code of its own to find
            candidates by, which are then scored exactly: at a million items two times as fast for many queries at once,
            seven times for one, and a few of the best are missed. ``"auto"`` does so from 100,000 items on. Items with
            a single feature are codes as they are, and every search of them is exact.
        bits : int, default 64
            Length of the row codes of ``mode="codes"``.
        rescore : int, default 50
            How many candidates are scored for the best ten; for more, as many more.

        Examples
        --------
        >>> from bitfm import DiscreteFM
        >>> from bitfm.data import Block, make_bookshop
        >>> shop = make_bookshop(200, 100, 4000)
        >>> X, y = shop.blocks(), shop.ratings["rating"]
        >>> model = DiscreteFM(bits=32).fit(X, y)
        >>> readers, books = X.blocks["reader"], X.blocks["book"]
        >>> index = model.index(Block(range(books.n_rows), books.tables))
        >>> positions, scores = index.search(Block([7], readers.tables), n=3)
        >>> positions.shape
        (1, 3)
        """
        from bitfm.retrieval import Index

        check_is_fitted(self)
        if items is None and self._saved_index is not None and block in (None, self._saved_index.block):
            return self._saved_index
        return Index(self, items, block, mode=mode, bits=bits, rescore=rescore)

    def save(self, path: str | os.PathLike[str], *, index: Index | None = None) -> None:
        """Write the fitted model to a file; see `bitfm.load`.

        The file is written beside its place and renamed, so whatever happens there is either the old file or the new.

        Parameters
        ----------
        path : the file to create or replace
        index : Index, optional
            An index of this model to keep in the file: ``bitfm.load(path).index()`` opens it by memory map.
        """
        from bitfm.models._saving import save_model

        save_model(self, Path(path), index)

    def predict_pairs(self, users: Any, items: Any, *, block: str | None = None) -> npt.NDArray[np.float64]:
        """Score pairs of users and items, each given on its own, straight from their features.

        The scores are those of `predict` in single precision. Where there are many pairs of few users and items, which
        then need not be worked out again for each pair, `predict` is faster.

        Parameters
        ----------
        users : Blocks, Block or array of int
            As for `Index.search`: one an interaction, context included.
        items : Block or array of int
            As for `index`: as many as there are users.
        block : str, optional
            Which of the model's blocks the items are; by default ``"item"``, or else the last.

        Notes
        -----
        After as many features as the model has, a copy of codes, gains and weights is kept side by side for speed, and
        they become read-only; to change them, set others. A view of them that was taken before can still be written
        to, and what it changes is not seen.

        Examples
        --------
        >>> import scipy.sparse as sp
        >>> from bitfm import Block, Blocks, DiscreteFM
        >>> X = Blocks(user=Block([0, 0, 1], {"id": sp.identity(2)}), item=Block([0, 1, 0], {"id": sp.identity(2)}))
        >>> model = DiscreteFM(bits=8).fit(X, [5, 4, 3])
        >>> bool(abs(model.predict_pairs([0, 0, 1], [0, 1, 0]) - model.predict(X)).max() < 1e-5)
        True
        """
        check_is_fitted(self)
        blocks = pair_blocks(self, users, items, block)
        cross = self.interactions_ == "cross"
        return pair_scorer(self).score(blocks, self.bias_, cross, thread_count(self.n_jobs))

    def to_float(self) -> FM:
        """Return an `FM` with the same predictions: its factors are gain × code."""
        check_is_fitted(self)
        fm = FM(rank=self.bits, interactions=self.interactions_, n_jobs=self.n_jobs)
        fm.factors_ = self._factors_of(np.arange(len(self.codes_)))
        fm.weights_, fm.bias_ = np.array(self.weights_), self.bias_
        fm.fields_, fm.n_features_in_ = self.fields_, self.n_features_in_
        fm.history_, fm.n_iter_ = [], 0
        return fm

    def _factors_of(self, features: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        factors = unpack_codes(np.asarray(self.codes_[features]))
        factors *= np.asarray(self.gains_[features])[:, None]
        return factors

    def _score(self, design: Any, dtype: np.dtype[Any]) -> Floats:
        cross, threads = self.interactions_ == "cross", thread_count(self.n_jobs)
        return _core.predict_codes(
            design, self.bias_, as_reals(self.weights_), self.codes_, self.gains_, cross, threads
        )

    def _crosses(self) -> bool:
        return getattr(self, "interactions_", self.interactions) == "cross"

    def _paper_settings(self, seed: int) -> PaperSettings:
        return PaperSettings(
            bits=check_bits(self.bits),
            alpha=check_real("alpha", self.alpha),
            beta=check_real("beta", self.beta, high=1e12),
            relaxed=check_choice("init", self.init, ("relaxed", "random")) == "relaxed",
            init_iter=check_whole("init_iter", self.init_iter, 1),
            max_iter=check_whole("max_iter", self.max_iter, 0),
            inner_iter=check_whole("inner_iter", self.inner_iter, 1, 1000),
            tol=check_real("tol", self.tol),
            cross=self.interactions_ == "cross",
            seed=seed,
            threads=thread_count(self.n_jobs),
        )

    def _anchored_settings(self, seed: int) -> AnchoredSettings:
        if not isinstance(self.teacher, FM | None):
            raise ValueError(f"teacher must be an FM or None, got {self.teacher!r}.")
        if not check_real("validation_fraction", self.validation_fraction) < 1:
            raise ValueError(f"validation_fraction must be from 0 up and below 1, got {self.validation_fraction!r}.")
        anchor = _check_anchor(self.anchor)
        if anchor not in (None, float("inf")) and self.objective == "anchored" and self.interactions_ == "all":
            raise ValueError(f"anchor {anchor!r} needs interactions across blocks; give Blocks, or leave it 'auto'.")
        shared = check_choice("gains", self.gains, ("feature", "field")) == "field"
        if shared and self.objective == "anchored" and self.interactions_ == "all":
            raise ValueError("gains 'field' needs interactions across blocks; give Blocks, or leave it 'feature'.")
        if self.teacher is not None and hasattr(self.teacher, "weights_"):
            self.teacher._check_same_features(self)
        return AnchoredSettings(
            bits=check_bits(self.bits),
            teacher=self.teacher,
            anchor=anchor,
            shared_gains=shared,
            validation_fraction=float(self.validation_fraction),
            max_iter=check_whole("max_iter", self.max_iter, 0),
            inner_iter=check_whole("inner_iter", self.inner_iter, 1, 1000),
            cross=self.interactions_ == "cross",
            seed=seed,
            threads=thread_count(self.n_jobs),
        )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))


def _single(weights: Floats) -> Floats:
    """Return weights in single precision, unless it cannot hold them."""
    most = float(np.abs(weights).max(initial=0))
    return weights.astype(np.float32, copy=False) if most == 0 or 1e-30 < most < 1e30 else weights


def _check_anchor(value: Any) -> float | None:
    """Return λ, or None if it is to be chosen."""
    if isinstance(value, str) and value == "auto":
        return None
    anchor = float(value) if isinstance(value, Real) and not isinstance(value, bool) else float("nan")
    if not 0 <= anchor <= 1e12 and anchor != float("inf"):
        raise ValueError(f"anchor must be 'auto', inf or a number from 0 to 1e12, got {value!r}.")
    return anchor
