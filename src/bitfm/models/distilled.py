"""Codes distilled from a real-valued teacher."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Real
from typing import Any

from bitfm.data.blocks import Blocks
from bitfm.data.one_hot import split_one_hot
from bitfm.models.base import Floats, check_same_features
from bitfm.models.codes import CodeModel, in_single_precision
from bitfm.models.fm import FM
from bitfm.models.progress import Progress
from bitfm.models.solvers.distillation import DistillationFit
from bitfm.validation import check_bits, check_choice, check_integer, check_real, thread_count

__all__ = ["DistilledFM"]


@dataclass(eq=False, repr=False)
class DistilledFM(CodeModel):
    """Factorization machine with binary codes distilled from a real-valued teacher.

    ŷ = w0 + Σ w x + Σ_{i<j} g_i g_j ⟨b_i, b_j⟩ x_i x_j, with a code b ∈ {±1}^bits and a gain g for every feature. They
    reproduce the teacher's scores of all pairs of rows, observed or not, and are about as accurate as the teacher. The
    attributes are those of `bitfm.models.CodeModel`: ``codes_``, ``gains_``, ``weights_``, ``bias_``, ``fit_log_``.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    teacher : FM, optional
        A fitted `FM` on the same features is taken as it is; one that is not fitted gives the settings. By default two
        are fitted, ``FM(rank=16, solver="gibbs")`` and one by coordinate descent, and their scores are averaged. The
        fitted model keeps none.
    anchor_strength : float or "auto", default "auto"
        λ: the weight of the distance to the teacher's scores of all pairs against the error on the data. ``inf`` is
        pure distillation, 0 the data alone. ``"auto"`` chooses on the validation part.
    gains : {"feature", "field"}, default "feature"
        A gain for every feature, or one for all features of a field. A feature that never occurs has none.
    validation_fraction : float, default 0.1
        Without a fitted teacher: the share of the interactions that is held out, in a first run, to choose λ and how
        much each field's gains count: more, less, or nothing where codes do not help. Then all are used. 0 does
        without, in less time.
    max_iter : int, default 20
        Iterations over the codes at most.
    inner_iter : int, default 5
        Passes of discrete coordinate descent over a feature's bits at most.
    pairs : {"auto", "all", "across"}, default "auto"
        ``"all"`` pairs of features, or only those from different blocks, ``"across"``. By default across if X has
        several blocks, else all.
    random_state, n_jobs, verbose
        As for `FM`.

    Examples
    --------
    >>> from bitfm import DistilledFM
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(200, 100, 4000)
    >>> model = DistilledFM(bits=32).fit(shop.blocks(), shop.ratings["rating"])
    >>> model.codes_.shape == (model.n_features_in_, 4)
    True
    """

    unsaved = ("teacher",)

    bits: int = 64
    _: KW_ONLY
    teacher: FM | None = None
    anchor_strength: float | str = "auto"
    gains: str = "feature"
    validation_fraction: float = 0.1
    max_iter: int = 20
    inner_iter: int = 5
    pairs: str = "auto"
    random_state: Any = 0
    n_jobs: int | None = -1
    verbose: int = 0

    def _fit(self, blocks: Blocks, y: Floats, progress: Progress) -> None:
        pairs = check_choice("pairs", self.pairs, ("auto", "all", "across"))
        self.pairs_ = pairs if pairs != "auto" else "across" if len(blocks.blocks) > 1 else "all"
        strength, shared_gains = self._check()
        if self.pairs_ == "all":
            blocks = split_one_hot(blocks)
        fitted = DistillationFit(
            blocks,
            y,
            progress,
            bits=check_bits(self.bits),
            teacher=self.teacher,
            strength=strength,
            shared_gains=shared_gains,
            validation_fraction=float(self.validation_fraction),
            max_iter=check_integer("max_iter", self.max_iter, 0),
            inner_iter=check_integer("inner_iter", self.inner_iter, 1, 1000),
            across=self.pairs_ == "across" or _is_bare_ids(blocks),  # which have no other pairs
            seed=self._seed(),
            threads=thread_count(self.n_jobs),
        ).run()
        self.codes_, self.gains_, self.bias_ = fitted.codes, fitted.gains, fitted.bias
        self.weights_ = in_single_precision(fitted.weights)

    def _check(self) -> tuple[float | None, bool]:
        """Check what is more than a number; return λ, or None if it is to be chosen, and whether fields share gains."""
        if not isinstance(self.teacher, FM | None):
            raise ValueError(f"teacher must be an FM or None, got {self.teacher!r}.")
        if self.teacher is not None and self.teacher.loss != "squared":
            raise ValueError(f"teacher has loss {self.teacher.loss!r}, but codes are distilled from 'squared' only.")
        if not check_real("validation_fraction", self.validation_fraction) < 1:
            raise ValueError(f"validation_fraction must be from 0 up and below 1, got {self.validation_fraction!r}.")
        value: Any = self.anchor_strength
        strength = float(value) if isinstance(value, Real) and not isinstance(value, bool) else float("nan")
        auto = isinstance(value, str) and value == "auto"
        if not auto and not 0 <= strength <= 1e12 and strength != float("inf"):
            raise ValueError(f"anchor_strength must be 'auto', inf or a number from 0 to 1e12, got {value!r}.")
        advice = "needs pairs across blocks; give Blocks, or leave it"
        if self.pairs_ == "all" and not auto and strength != float("inf"):
            raise ValueError(f"anchor_strength {strength!r} {advice} 'auto'.")
        shared = check_choice("gains", self.gains, ("feature", "field")) == "field"
        if shared and self.pairs_ == "all":
            raise ValueError(f"gains 'field' {advice} 'feature'.")
        if self.teacher is not None and hasattr(self.teacher, "weights_"):
            check_same_features("teacher", self.teacher, self)
        return None if auto else strength, shared


def _is_bare_ids(blocks: Blocks) -> bool:
    """Whether there are several blocks, each of which is nothing but ids."""
    tables = [list(block.tables.values()) for block in blocks.blocks.values()]
    return len(tables) > 1 and all(len(of) == 1 and of[0].identity for of in tables)
