"""Quantities: a price, an age, a year."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.columns.infer import FEW, ObservedColumn
from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, check_facts, register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.formats import check_decimal
from bitfm.data.numbers import number_text, quantities, read_quantities
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, Tensors, check_tensors
from bitfm.validation import check_choice, check_integer

_FARTHEST = 4.0  # spreads from the mean; beyond, a number counts as this far
_BINS = dict.fromkeys(("lows", "highs"), Tensor("float64", "bins", low=-np.inf))
_STANDARD = {"mean": Tensor("float64", low=-np.inf), "spread": Tensor("float64", low=0)}


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
        """Return the bin of each number, -1 for NaN; the outer bins have no outer end."""
        if not len(self):
            return np.full(len(numbers), -1, np.int32)
        return np.where(np.isnan(numbers), -1, np.searchsorted(self.highs[:-1], numbers)).astype(np.int32)

    def label(self, index: int) -> str:
        """Return a bin as people write it."""
        low, high = (number_text(float(ends[index])) for ends in (self.lows, self.highs))
        return low if low == high else f"{low} to {high}"

    @classmethod
    def restored(cls, tensors: Tensors) -> Self:
        """Return the bins whose `vars` a model file kept."""
        check_tensors(tensors, _BINS)
        bins = cls(**tensors)
        if (bins.lows > bins.highs).any() or (bins.highs[:-1] >= bins.lows[1:]).any():
            raise ModelFileError("has bins that do not rise")
        return bins


@register_kind
@dataclass(frozen=True)
class Number(Kind):
    """A quantity, such as a price or a year.

    Strings such as "4.99", "$4.99", "1,299" and "1.234,50 €" are numbers as well; see `parse_numbers`. A duration
    counts in seconds, a date in seconds since 1970. A value that is not a number is missing.

    Parameters
    ----------
    scale : "bins" or "standard", default "bins"
        ``"bins"``: one feature per range, of ranges that hold about equally many rows; the first and the last have no
        outer end. ``"standard"``: one feature, the distance from the mean in standard deviations, at most 4.
    bins : int, default 10
        How many ranges there are, at most. Where there are no more different numbers than this, each has its own.
    decimal : "." or ",", optional
        The decimal mark of strings. By default the fit finds it, and later values are read alike.

    Examples
    --------
    >>> column = Number(bins=3).fit("year", pl.Series([1990, 1991, 1995, 1996, None, 1999, 2004]))
    >>> [column.label(feature) for feature in range(column.width)]
    ['1990 to 1991', '1995 to 1996', '1999 to 2004']
    >>> column.transform(pl.Series([1980, None])).toarray()
    array([[1., 0., 0.],
           [0., 0., 0.]], dtype=float32)
    >>> Number(scale="standard").fit("price", pl.Series([1.0, 3.0])).transform(pl.Series(["$4.00"])).toarray()
    array([[2.]], dtype=float32)
    >>> Number().fit("price", pl.Series(["17,94", "1.299"])).kind.decimal
    ','
    """

    called: ClassVar[str] = "number"
    priority: ClassVar[int] = 70
    scale: Literal["bins", "standard"] = "bins"
    bins: int = 10
    decimal: str | None = None

    def __post_init__(self) -> None:
        check_choice("Number: scale", self.scale, ("bins", "standard"))
        check_integer("Number: bins", self.bins, 1)
        check_decimal("Number: decimal", self.decimal)

    @classmethod
    def shorthands(cls) -> dict[str, Self]:
        """Return both scales."""
        return {"number": cls(), "standard": cls(scale="standard")}

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take numbers, unless they are codes, or few integers."""
        numbers = column.numbers
        if numbers is None or column.distinct < 2 or column.has_codes or (column.integers and column.distinct <= FEW):
            return None
        low, high = number_text(float(numbers.min())), number_text(float(numbers.max()))
        reason = f"{'whole numbers' if column.integers else 'numbers'} from {low} to {high}"
        if column.mark is not None and not column.mark.decided:
            reason += f", with {column.mark.example!r} read with a decimal point, as nothing decides"
        elif column.mark is not None and column.mark.value == ",":
            reason += f", with decimal commas as in {column.mark.example!r}"
        return Inferred(cls(decimal=column.decimal), reason)

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the bins, or take the mean and the spread."""
        read, found = read_quantities(values, self.decimal)
        kind = self if found is None else replace(self, decimal=found.value)
        numbers = read.to_numpy()
        numbers = numbers[~np.isnan(numbers)]
        if self.scale == "bins":
            return _FittedBins(name, kind, Bins.of(numbers, self.bins, self.bins))
        if not len(numbers):
            return _FittedStandard(name, kind, 0.0, 0.0)
        largest = np.abs(numbers).max() or 1.0
        scaled = numbers / largest  # squares of the largest numbers would overflow
        return _FittedStandard(name, kind, float(scaled.mean() * largest), float(scaled.std() * largest))

    def readable(self, values: pl.Series) -> bool:
        """Tell whether any value is a number."""
        return quantities(values, self.decimal).count() > 0

    def restored(self, name: str, state: Mapping[str, Any], tensors: Tensors) -> FittedColumn:
        """Return the fitted column of what it saved."""
        check_facts(state)
        if self.scale == "bins":
            return _FittedBins(name, self, Bins.restored(tensors))
        check_tensors(tensors, _STANDARD)
        return _FittedStandard(name, self, float(tensors["mean"]), float(tensors["spread"]))


class _FittedNumbers(FittedColumn):
    """What both scales have in common."""

    def numbers(self, values: pl.Series) -> NDArray[np.float64]:
        """Return the numbers of values, read as those of the fit were; NaN where there is none."""
        assert isinstance(self.kind, Number)
        return quantities(values, self.kind.decimal).to_numpy()


@dataclass(eq=False)
class _FittedBins(_FittedNumbers):
    """A value of 1 in the bin's feature."""

    bins: Bins

    @property
    def width(self) -> int:
        return len(self.bins)

    def transform(self, values: pl.Series) -> FeatureTable:
        return FeatureTable.one_hot(self.bins.find(self.numbers(values)), self.width)

    def label(self, feature: int) -> str:
        return self.bins.label(feature)

    def facts(self) -> str:
        if not self.width:
            return "no numbers"
        if (self.bins.lows == self.bins.highs).all():
            return f"{self.width} numbers" if self.width > 1 else "1 number"
        return f"{self.width} bins of equal counts"

    def tensors(self) -> Tensors:
        return vars(self.bins)


@dataclass(eq=False)
class _FittedStandard(_FittedNumbers):
    """The distance from the mean in spreads; no feature where all numbers are the same."""

    mean: float
    spread: float

    @property
    def width(self) -> int:
        return int(self.spread > 0)

    def transform(self, values: pl.Series) -> FeatureTable:
        if not self.width:
            return FeatureTable.empty(len(values), 0)
        with np.errstate(over="ignore"):  # what is beyond the largest number is also beyond the farthest
            distance = np.clip((self.numbers(values) - self.mean) / self.spread, -_FARTHEST, _FARTHEST)
        column = np.where(np.isnan(distance), 0, distance).astype(np.float32)
        table = FeatureTable.one_hot(np.where(column == 0, -1, 0), 1)
        return replace(table, values=column[column != 0])

    def label(self, feature: int) -> str:
        return "value"

    def facts(self) -> str:
        facts = f"standardised: mean {self.mean:.3g}, spread {self.spread:.3g}"
        return facts if self.width else "no two different numbers"

    def tensors(self) -> Tensors:
        return {"mean": np.array(self.mean, np.float64), "spread": np.array(self.spread, np.float64)}
