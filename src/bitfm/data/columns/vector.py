"""Embeddings: as many numbers in every row, such as those of a text or of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.core import column_sums, eigh, multiply
from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, check_facts, register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.vectors import read_vectors, vector_length
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, Tensors, check_tensors
from bitfm.validation import check_integer

if TYPE_CHECKING:
    from bitfm.data.columns.infer import ObservedColumn

_SAMPLE = 5000  # vectors, evenly spread, tell the directions of all
_ROWS = 8192  # vectors that are turned at a time
_FARTHEST = 4.0  # spreads from the mean; beyond, a number counts as this far
_NOTHING = 1e-9  # of the largest variance: what rounding leaves of directions in which vectors do not differ
_TENSORS = {
    "mean": Tensor("float32", "numbers", low=-np.inf),
    "axes": Tensor("float32", "numbers features", low=-np.inf),
    "scale": Tensor("float32", low=0),
}


@register_kind
@dataclass(frozen=True)
class Vector(Kind):
    """An embedding, such as those that a language model makes of texts: a list of numbers, equally long in every row.

    Its features are its principal components: the distances from the mean vector along the directions in which vectors
    differ most. They have one scale, by which the squares of a row add up to 1 on average, as of a category; so what is
    large in the vectors is large in the features. A table keeps 8 bits of each.

    Parameters
    ----------
    dimensions : int, default 128
        How many directions there are, at most.

    Examples
    --------
    >>> column = Vector(dimensions=1).fit("colour", pl.Series([[1.0, 0.0], [3.0, 2.0], None, [2.0, 1.0]]))
    >>> column.transform(pl.Series([[1.0, 0.0], [2.0, 1.0], None])).toarray().round(2)
    array([[-1.23],
           [ 0.  ],
           [ 0.  ]], dtype=float32)
    >>> column.facts()
    '1 direction of 2, with 100 % of the variance'
    """

    called: ClassVar[str] = "vector"
    priority: ClassVar[int] = 95
    dimensions: int = 128

    def __post_init__(self) -> None:
        check_integer("Vector: dimensions", self.dimensions, 1, 4096)

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take lists of floats that are equally long."""
        length = vector_length(column.values) if column.has_lists or column.is_text else None
        return None if length is None else Inferred(cls(), f"lists of {length:,} numbers")

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Find the mean, and the directions in which vectors differ most."""
        numbers = read_vectors(name, values).numbers
        numbers = numbers[:: max(1, len(numbers) // _SAMPLE)].astype(np.float64)
        n, length = numbers.shape
        if not n:
            return _FittedVector(name, self, np.zeros(0, np.float32), np.zeros((0, 0), np.float32), 0.0, 0.0)
        sums, _ = column_sums(numbers, np.arange(n), np.zeros(length))
        mean = (sums / n).astype(np.float32)
        centred = numbers - mean
        variances, axes = eigh(multiply(centred.T, centred) / n)
        there = variances > max(_NOTHING * float(variances[-1]), 1e-60)
        kept = np.flatnonzero(there)[::-1][: self.dimensions]
        total = float(variances[kept].sum()) or 1.0
        unit = _FARTHEST * np.sqrt(float(variances[kept].max(initial=0))) / 127  # of a level
        levels = (axes[:, kept] / (unit or 1.0)).astype(np.float32)
        share = total / (float(variances[there].sum()) or 1.0)
        return _FittedVector(name, self, mean, levels, float(np.float32(unit / np.sqrt(total))), share)

    def readable(self, values: pl.Series) -> bool:
        """Tell whether there is any vector."""
        return len(read_vectors(values.name, values).rows) > 0

    def restored(self, name: str, state: Mapping[str, Any], tensors: Tensors) -> FittedColumn:
        """Return the fitted column of what it saved."""
        check_facts(state, share=float)
        check_tensors(tensors, _TENSORS)
        if tensors["axes"].shape[1] > self.dimensions:
            raise ModelFileError(f"has {tensors['axes'].shape[1]} directions, expected up to {self.dimensions}")
        return _FittedVector(name, self, tensors["mean"], tensors["axes"], float(tensors["scale"]), **state)


@dataclass(eq=False)
class _FittedVector(FittedColumn):
    """The distances from the mean along the axes, whose lengths make a level of each: a whole number up to ±127."""

    mean: NDArray[np.float32]
    axes: NDArray[np.float32]  # one per column
    scale: float  # what a level stands for
    share: float  # of the variance

    @property
    def width(self) -> int:
        return int(self.axes.shape[1])

    def transform(self, values: pl.Series) -> FeatureTable:
        rows, numbers = read_vectors(self.name, values, len(self.mean))
        levels = np.zeros((len(values), self.width), np.int8)
        for start in range(0, len(rows), _ROWS):
            part = slice(start, start + _ROWS)
            along = multiply(numbers[part] - self.mean, self.axes)
            levels[rows[part]] = np.clip(np.rint(along), -127, 127)
        return FeatureTable.levels(levels, self.scale)

    def label(self, feature: int) -> str:
        return f"direction {feature + 1}"

    def facts(self) -> str:
        if not self.width:
            return "no two different vectors"
        directions = "1 direction" if self.width == 1 else f"{self.width} directions"
        return f"{directions} of {len(self.mean):,}, with {100 * self.share:.0f} % of the variance"

    def state(self) -> dict[str, Any]:
        return super().state() | {"share": self.share}

    def tensors(self) -> Tensors:
        return {"mean": self.mean, "axes": self.axes, "scale": np.array(self.scale, np.float32)}
