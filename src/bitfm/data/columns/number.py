"""Quantities: a price, an age, a year."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from bitfm.data.columns._column import FittedColumn, Kind, check_count, damage, exactly, reals
from bitfm.data.columns.infer import FEW, Inferred, ObservedColumn
from bitfm.data.columns.registry import register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.parsing import number_text, parse_numbers

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Number"]

_FARTHEST = 4.0  # spreads from the mean; beyond, a number counts as this far


@dataclass(frozen=True)
class Bins:
    """The lowest and the highest number of each bin, rising."""

    lows: NDArray[np.float64]
    highs: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.lows)

    @classmethod
    def of(cls, numbers: NDArray[np.float64], most: int, alone: int) -> Bins:
        """Return up to `most` bins of equal counts, or one per number if there are up to `alone` different ones."""
        distinct, counts = np.unique(numbers, return_counts=True)
        if len(distinct) <= alone:
            return cls(distinct, distinct)
        # Equal numbers share a bin, so a bin ends with the number by which its share is complete.
        ends = np.unique(np.searchsorted(np.cumsum(counts) * most, np.arange(1, most + 1) * len(numbers)))
        return cls(distinct[np.concatenate([[0], ends[:-1] + 1])], distinct[ends])

    def find(self, numbers: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return the bin of each number, -1 for NaN; the outer bins go on for ever."""
        if not len(self):
            return np.full(len(numbers), -1, np.int32)
        found = np.searchsorted(self.highs[:-1], numbers)
        return np.where(np.isnan(numbers), -1, found).astype(np.int32)

    def label(self, number: int) -> str:
        """Return a bin as people write it."""
        low, high = (number_text(float(ends[number])) for ends in (self.lows, self.highs))
        return low if low == high else f"{low} to {high}"

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a model file keeps."""
        return {"lows": self.lows, "highs": self.highs}

    @classmethod
    def restored(cls, name: str, tensors: Mapping[str, NDArray[Any]]) -> Self:
        """Return the bins of `tensors`."""
        lows = reals(name, tensors, "lows", (-1,))
        highs = reals(name, tensors, "highs", lows.shape)
        if (lows > highs).any() or (highs[:-1] >= lows[1:]).any():
            raise damage(name, "its bins do not rise")
        return cls(lows, highs)


@register_kind
@dataclass(frozen=True)
class Number(Kind):
    """A quantity, such as a price or a year.

    Strings of numbers count, too: "4.99", "$4.99" and "1,299"; see `parse_numbers`. A duration counts in seconds, a
    date in seconds since 1970. A value that is no number is missing.

    Parameters
    ----------
    scale : "bins" or "standard", default "bins"
        ``"bins"``: a feature for each of several ranges that hold about equally many rows. The first and the last
        go on for ever. ``"standard"``: one feature, the distance from the mean in standard deviations, at most 4.
    bins : int, default 10
        How many ranges there are, at most. Where there are no more different numbers than this, each has its own.

    Examples
    --------
    >>> import polars as pl
    >>> years = pl.Series([1990, 1991, 1995, 1996, None, 1999, 2004])
    >>> column = Number(bins=3).fit("year", years)
    >>> [column.label(feature) for feature in range(column.width)]
    ['1990 to 1991', '1995 to 1996', '1999 to 2004']
    >>> column.transform(pl.Series([1980, 1996, None])).toarray()
    array([[1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 0.]], dtype=float32)
    >>> Number(scale="standard").fit("price", pl.Series([1.0, 3.0])).transform(pl.Series(["$4.00"])).toarray()
    array([[2.]], dtype=float32)
    """

    called: ClassVar[str] = "number"
    priority: ClassVar[int] = 70
    scale: Literal["bins", "standard"] = "bins"
    bins: int = 10

    def __post_init__(self) -> None:
        if self.scale not in ("bins", "standard"):
            raise ValueError(f"Number: scale must be 'bins' or 'standard', got {self.scale!r}.")
        check_count("Number", "bins", self.bins)

    @classmethod
    def shorthands(cls) -> dict[str, Self]:
        """Return both scales."""
        return {"number": cls(), "standard": cls(scale="standard")}

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take numbers, unless they are codes, or whole and few."""
        numbers = column.numbers
        if numbers is None or column.distinct < 2 or column.has_codes or (column.integers and column.distinct <= FEW):
            return None
        low, high = number_text(float(numbers.min())), number_text(float(numbers.max()))
        return Inferred(cls(), f"{'whole numbers' if column.integers else 'numbers'} from {low} to {high}")

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the bins, or take the mean and the spread."""
        numbers = quantities(values)
        numbers = numbers[~np.isnan(numbers)]
        if self.scale == "bins":
            return _FittedBins(name, self, Bins.of(numbers, self.bins, self.bins))
        return _FittedStandard(name, self, *_mean_and_spread(numbers))

    def readable(self, values: pl.Series) -> bool:
        """Tell whether any value is a number."""
        return bool(np.isfinite(quantities(values)).any())

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        exactly(name, "facts", state, set())
        if self.scale == "bins":
            exactly(name, "tensors", tensors, {"lows", "highs"})
            return _FittedBins(name, self, Bins.restored(name, tensors))
        exactly(name, "tensors", tensors, {"mean", "spread"})
        mean, spread = (float(reals(name, tensors, key, ())) for key in ("mean", "spread"))
        if spread < 0:
            raise damage(name, f"its spread is {spread}")
        return _FittedStandard(name, self, mean, spread)


class _FittedBins(FittedColumn):
    """A value of 1 in the bin's feature."""

    def __init__(self, name: str, kind: Number, bins: Bins) -> None:
        super().__init__(name, kind)
        self._bins = bins

    @property
    def width(self) -> int:
        return len(self._bins)

    def transform(self, values: pl.Series) -> FeatureTable:
        return FeatureTable.one_hot(self._bins.find(quantities(values)), self.width)

    def label(self, feature: int) -> str:
        return self._bins.label(feature)

    def facts(self) -> str:
        if not self.width:
            return "no numbers"
        if (self._bins.lows == self._bins.highs).all():
            return f"{self.width} numbers" if self.width > 1 else "1 number"
        return f"{self.width} bins of equal counts"

    def tensors(self) -> dict[str, NDArray[Any]]:
        return self._bins.tensors()


class _FittedStandard(FittedColumn):
    """The distance from the mean in spreads; no feature where all numbers are the same."""

    def __init__(self, name: str, kind: Number, mean: float, spread: float) -> None:
        super().__init__(name, kind)
        self._mean = mean
        self._spread = spread

    @property
    def width(self) -> int:
        return int(self._spread > 0)

    def transform(self, values: pl.Series) -> FeatureTable:
        numbers = quantities(values)
        if not self.width:
            return FeatureTable.empty(len(numbers), 0)
        with np.errstate(over="ignore"):  # what is beyond the largest number is also beyond the farthest
            distance = np.clip((numbers - self._mean) / self._spread, -_FARTHEST, _FARTHEST)
        values32 = distance.astype(np.float32)
        table = FeatureTable.one_hot(np.where(np.isnan(distance) | (values32 == 0), -1, 0), 1)
        return replace(table, values=values32[np.isfinite(values32) & (values32 != 0)])

    def label(self, feature: int) -> str:
        return "value"

    def facts(self) -> str:
        if not self.width:
            return "no two different numbers"
        return f"standardised: mean {self._mean:.3g}, spread {self._spread:.3g}"

    def tensors(self) -> dict[str, NDArray[Any]]:
        return {"mean": np.array(self._mean, np.float64), "spread": np.array(self._spread, np.float64)}


def quantities(values: pl.Series) -> NDArray[np.float64]:
    """Return a column of any type as numbers, NaN where a value is none."""
    import polars as pl

    if values.dtype == pl.Duration:
        values = values.dt.total_microseconds() / 1e6
    elif values.dtype in (pl.Date, pl.Datetime):
        values = values.dt.epoch("us") / 1e6
    return parse_numbers(values).fill_null(np.nan).to_numpy()


def _mean_and_spread(numbers: NDArray[np.float64]) -> tuple[float, float]:
    """Return the mean and the standard deviation, 0 where there are no two different numbers."""
    if not len(numbers) or numbers.min() == numbers.max():
        return (float(numbers[0]) if len(numbers) else 0.0), 0.0
    largest = np.abs(numbers).max()
    scaled = numbers / largest  # squares of the largest numbers would overflow
    return float(scaled.mean() * largest), float(scaled.std() * largest)
