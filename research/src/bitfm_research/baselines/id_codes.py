"""What methods share that give each user and each item one code."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from bitfm.core import predict_codes
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats
from bitfm.models.codes import CodeModel
from bitfm.models.progress import Progress
from bitfm.validation import check_bits, thread_count
from sklearn.utils.validation import check_is_fitted

from bitfm_research.baselines._ids import IdRatings

__all__ = ["IdCodes", "PackedCodes"]

PackedCodes: TypeAlias = npt.NDArray[np.uint8]
_FAINT = 1e-4  # share of the targets' size that codes may move a score by where they explain nothing
_SINGLE = np.finfo(np.float32)
_PRECISION = 22  # bits of a score that are exact; float32 has 24


@dataclass(eq=False, repr=False)
class IdCodes(CodeModel, ABC):
    """A code for each user and each item, by their ids: ŷ = bias + slope · ⟨b_user, b_item⟩.

    X are `Blocks` of users and items, each with one field of ids; or a matrix, with `fields`. A subclass is a
    dataclass of its own settings and implements `_learn`. The codes it returns are stored as a model of codes for all
    features of X: the ids have gains whose product is the slope; other features, which such methods do not look at,
    have the gain 0; and no feature has a weight. So prediction, search, pairs and files work as for `DiscreteFM`, and a
    file opens as the same class.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    random_state : int, RandomState or None, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.
    verbose : int, default 0
        Print a line per iteration.

    Attributes
    ----------
    user_codes_, item_codes_ : arrays of uint8, ids × bits / 8
        Bit t is bit t % 8 of byte t // 8; 1 is +1.
    codes_, gains_, weights_, bias_
        The same as a `DiscreteFM` of all features.
    fit_log_ : list of Iteration
    """

    bits: int = 64
    _: KW_ONLY
    random_state: Any = 0
    n_jobs: int | None = -1
    verbose: int = 0

    def _fit(self, blocks: Blocks, y: Floats, progress: Progress) -> None:
        ratings = IdRatings.of(blocks, y, type(self).__name__)
        check_bits(self.bits)
        thread_count(self.n_jobs)
        self._store(ratings, self._learn(ratings, np.random.default_rng(self._seed()), progress))

    @abstractmethod
    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        """Return the packed codes of all users, and below them those of all items."""

    def _line(self, y: Floats, products: Floats) -> tuple[float, float]:
        """Return bias and slope of the scores, given ⟨b_user, b_item⟩ of each rating: the least-squares line."""
        return least_squares_line(y, products)

    def _store(self, ratings: IdRatings, learned: PackedCodes) -> None:
        n = ratings.blocks.n_features
        codes, gains = np.zeros((n, self.bits // 8), np.uint8), np.zeros(n, np.float32)
        codes[ratings.user_columns] = learned[: ratings.n_users]
        codes[ratings.item_columns] = learned[ratings.n_users :]
        gains[ratings.user_columns] = gains[ratings.item_columns] = 1
        nothing = np.zeros(n, np.float32)
        design: Any = ratings.blocks.design()
        products = predict_codes(design, 0.0, nothing, codes, gains, True, thread_count(self.n_jobs))
        bias, slope = self._line(ratings.y, np.asarray(products, np.float64))
        self.bias_, user_gain, item_gain = _exact(bias, slope, self.bits)
        gains[ratings.user_columns], gains[ratings.item_columns] = user_gain, item_gain
        self.codes_, self.gains_, self.weights_ = codes, gains, nothing
        self.pairs_ = "across"

    @property
    def user_codes_(self) -> PackedCodes:
        """Codes of the users: bit t is bit t % 8 of byte t // 8; 1 is +1."""
        return self._codes_of(0)

    @property
    def item_codes_(self) -> PackedCodes:
        """Codes of the items, in the same form."""
        return self._codes_of(1)

    def _codes_of(self, side: int) -> PackedCodes:
        check_is_fitted(self)
        names = list(dict.fromkeys(field.block for field in self.fields_))
        item = "item" if "item" in names else names[-1]
        of_side = [field for field in self.fields_ if (field.block == item) == bool(side)]
        # What has no gain is not an id. So a model from a file knows its ids as well.
        spans = [slice(f.start, f.stop) for f in of_side if np.any(self.gains_[f.start : f.stop])]
        if len(spans) != 1:
            raise ValueError(f"{len(spans)} fields of a side have gains, but ids are one field; fit the model again.")
        return self.codes_[spans[0]]


def _exact(bias: float, slope: float, bits: int) -> tuple[float, float, float]:
    """Return the bias and the gains of users and items, rounded so that sums in single precision are exact.

    Two pairs with the same inner product then have the same score to the last bit, wherever it is computed; else
    rounding would decide their order. Both gains are about √slope, one of them a power of 2; bias and slope are
    multiples of one unit, of which a score has no more than single precision can count.
    """
    unit = 2.0 ** (np.ceil(np.log2(abs(bias) + slope * bits)) - _PRECISION)
    slope = max(np.rint(slope / unit), 1.0) * unit
    user_gain = 2.0 ** np.rint(np.log2(slope) / 2)
    item_gain = slope / user_gain
    if not _SINGLE.tiny < min(user_gain, item_gain) <= max(user_gain, item_gain) < _SINGLE.max:
        raise ValueError(f"y is too large or too small for gains in float32 (a slope of {slope:g}); scale it.")
    return float(np.rint(bias / unit) * unit), float(user_gain), float(item_gain)


def least_squares_line(y: Floats, products: Floats) -> tuple[float, float]:
    """Return bias and slope of the line nearest to the targets, the slope above 0.

    Where the products explain nothing, or the line falls, the slope is faint but positive. So the order of the scores
    is always that of the products, which is what the codes stand for; a slope of 0 would make all scores alike, and a
    falling line would turn around what was learned because of noise.
    """
    size = float(np.abs(y).max())
    unit = size if size > 0 else 1.0
    t = y / unit
    x = products - products.mean()
    spread = float(np.sum(x * x))
    slope = float(np.sum(x * (t - t.mean()))) / spread if spread > 0 else 0.0
    slope = max(slope, _FAINT / max(float(np.abs(products).max()), 1.0))
    return float(t.mean() - slope * products.mean()) * unit, slope * unit
