"""The units that solvers work in: targets of mean 0 and variance 1, so that the units of the data do not matter."""

from __future__ import annotations

from math import hypot, sqrt
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["TargetMoments", "TargetUnits"]

Floats = npt.NDArray[np.floating[Any]]


class TargetUnits(NamedTuple):
    """Targets are middle + unit × what a solver sees."""

    middle: float = 0.0
    unit: float = 1.0

    def standardise(self, y: Floats) -> Floats:
        """Return what a solver sees of targets."""
        return y if self == (0.0, 1.0) else (y - self.middle) / self.unit

    @property
    def inverse(self) -> TargetUnits:
        """The way back."""
        return TargetUnits(-self.middle / self.unit, 1 / self.unit)


class TargetMoments(NamedTuple):
    """What is kept of the targets of a fit, and of its parts: how many, or their weight, mean and standard deviation.

    Examples
    --------
    >>> import numpy as np
    >>> from bitfm.models import TargetMoments
    >>> TargetMoments.of(np.array([2.0, 2.0])).joined(TargetMoments.of(np.array([6.0, 6.0])))
    TargetMoments(weight=4.0, mean=4.0, deviation=2.0)
    """

    weight: float
    mean: float
    deviation: float

    @classmethod
    def of(cls, y: Floats, weight: Floats | None = None) -> TargetMoments:
        """Return those of some targets; `weight` is one per target, not all 0, or None."""
        mean = float(np.average(y, weights=weight))
        with np.errstate(over="ignore"):
            deviation = float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))
        return cls(float(len(y) if weight is None else weight.sum()), mean, deviation)

    def joined(self, other: TargetMoments) -> TargetMoments:
        """Return those of both parts."""
        total = self.weight + other.weight
        a, b = self.weight / total, other.weight / total
        within = hypot(sqrt(a) * self.deviation, sqrt(b) * other.deviation)
        between = sqrt(a * b) * (other.mean - self.mean)
        return TargetMoments(total, a * self.mean + b * other.mean, hypot(within, between))

    def units(self, dtype: np.dtype[Any]) -> TargetUnits:
        """Return units in which the deviation is 1; the square of theirs, and its inverse, are numbers of this type."""
        largest = float(np.finfo(dtype).max) ** 0.4
        if not self.deviation < largest:
            raise ValueError(f"y has a standard deviation of {self.deviation:.3g}, too large; scale the targets.")
        return TargetUnits(self.mean, max(self.deviation, 1 / largest))  # constant targets have none, but for rounding
