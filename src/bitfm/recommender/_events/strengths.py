"""How much events count: by what they are, by a column of weights, and by their age."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm.data.files import quoted
from bitfm.data.interactions import Interactions
from bitfm.errors import ValueInTableError

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["Strengths"]

_DAY = 86_400
_PER_HALF_LIFE = 64  # so many ages are told apart


@dataclass(frozen=True)
class Strengths:
    """The product of what an event's kind and its weight count for, halved for every half-life of its age.

    Parameters
    ----------
    by_kind : mapping of kind to number, or None
    half_life : float or None
        In days.
    newest : int or None
        From which time ages are counted: that of the latest event at the fit. What comes later has no age.
    """

    by_kind: Mapping[str, float] | None = None
    half_life: float | None = None
    newest: int | None = None

    @classmethod
    def of(cls, settings: Recommender, read: Interactions) -> Strengths:
        """Check the settings of a fit."""
        by_kind, half_life = settings.event_weights, settings.half_life
        if (by_kind is None) != (read.kinds is None):
            given, other = ("event=", "event_weights=") if by_kind is None else ("event_weights=", "event=")
            what = "what each kind of event counts for" if by_kind is None else "the column that says what an event is"
            raise ValueError(f"{given} needs {other}, {what}.")
        if by_kind is not None:
            by_kind = {str(kind): _number("event_weights", kind, value) for kind, value in by_kind.items()}
        if half_life is not None:
            half_life = _number("half_life", "days", half_life)
            if half_life <= 0:
                raise ValueError(f"half_life must be above 0 days, got {half_life}.")
            if read.times is None:
                raise ValueError("half_life needs times: name their column with time=.")
        newest = None if half_life is None or read.times is None else int(read.times.max())
        return cls(by_kind, half_life, newest)

    def values(self, read: Interactions, what: str) -> npt.NDArray[np.float64]:
        """Return how much each event counts."""
        values = np.ones(len(read))
        if read.kinds is not None and self.by_kind is not None:
            kinds, which = np.unique(read.kinds.to_numpy().astype(str), return_inverse=True)
            unknown = [kind for kind in kinds.tolist() if kind not in self.by_kind]
            if unknown:
                row = int(np.argmax(which == kinds.tolist().index(unknown[0])))
                known = ", ".join(map(quoted, self.by_kind))
                raise ValueInTableError(
                    f"{what}, column {quoted(read.roles.event)}, row {row + 1}: nothing says what an event "
                    f"{quoted(unknown[0])} counts for, only {known}; add it to event_weights."
                )
            values *= np.array([self.by_kind[kind] for kind in kinds.tolist()])[which]
        if read.weights is not None:
            values *= read.weights
        if self.half_life is not None and self.newest is not None and read.times is not None:
            values *= _decay(np.maximum(self.newest - read.times, 0) / (_DAY * self.half_life))
        with np.errstate(over="ignore"):
            if not np.isfinite(values.astype(np.float32)).all():
                raise ValueInTableError(f"{what}: an event counts for more than single precision holds; scale it down.")
        return values


def _number(name: str, of: Any, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not math.isfinite(value):
        raise ValueError(f"{name}: expected a number for {of!r}, got {value!r}.")
    return float(value)


def _decay(half_lives: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return 2^-x, to a 64th of a half-life, by roots, which are the same on all processors."""
    root = 0.5
    for _ in range(int(math.log2(_PER_HALF_LIFE))):
        root = math.sqrt(root)
    table = np.cumprod([1.0, *[root] * (_PER_HALF_LIFE - 1)])
    steps = np.minimum(half_lives * _PER_HALF_LIFE, 1000.0 * _PER_HALF_LIFE).astype(np.int64)
    whole, part = np.divmod(steps, _PER_HALF_LIFE)
    return np.asarray(np.ldexp(table[part], -whole))
