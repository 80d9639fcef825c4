"""Whether two models differ by more than chance: a paired test over users, and what several tests are worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.evaluation.per_user import Mean, PerUser, Pooled, bootstrapped, check_draws, interval_of
from bitfm.html import table
from bitfm.validation import thread_count

__all__ = ["Comparison", "compare", "holm"]

Measure = TypeVar("Measure", PerUser, Pooled)
_DRAWS = 1000  # of users, for the interval


@dataclass(frozen=True)
class Comparison:
    """What `compare` returns; arrays with one number for each k where there are several.

    Attributes
    ----------
    n_users : int
        How many users both have.
    difference : float
        The mean of the first minus the second over these users.
    low, high : float
        The interval of the difference, by the bootstrap.
    p_value : float
        How often chance alone makes a difference as large, up or down.
    """

    n_users: int
    difference: Mean
    low: Mean
    high: Mean
    p_value: Mean

    def _repr_html_(self) -> str:
        named = {"difference": self.difference, "low": self.low, "high": self.high, "p-value": self.p_value}
        rows = [(name, *np.atleast_1d(values).tolist()) for name, values in named.items()]
        return table(rows, caption=f"Comparison of {self.n_users:,} users")


@overload
def compare(a: PerUser, b: PerUser, *, level: float = ..., n: int = ..., seed: int = ...) -> Comparison: ...
@overload
def compare(a: Pooled, b: Pooled, *, level: float = ..., n: int = ..., seed: int = ...) -> Comparison: ...
def compare(a: Any, b: Any, *, level: float = 0.95, n: int = 10_000, seed: int = 0) -> Comparison:
    """Compare two models user by user.

    The signs of the users' differences are flipped at random, as chance would if the models were equally good: the
    p-value is the share of flips whose sum is as far from 0 as the true one, the true one counted among them. Nothing
    is assumed about how the differences spread.

    Parameters
    ----------
    a, b : PerUser or Pooled
        The same metric at the same ks, of two models. Users that only one of them has are left out.
    level, seed
        As for `PerUser.interval`, the interval of the difference.
    n : int, default 10,000
        How many times to flip. The p-value is at least 1 / (n + 1).

    Examples
    --------
    >>> from bitfm.evaluation import PerUser, compare
    >>> users = np.arange(6)
    >>> compare(PerUser(users, np.full(6, 0.75)), PerUser(users, np.full(6, 0.5)))
    Comparison(n_users=6, difference=0.25, low=0.25, high=0.25, p_value=0.0328...)
    """
    n, seed = check_draws(level, n, seed)
    if isinstance(a, Pooled) != isinstance(b, Pooled):
        raise TypeError(f"compare: got a {type(a).__name__} and a {type(b).__name__}; give the same metric of both.")
    if isinstance(a, Pooled):
        return _compared_pools(a, b, level, n, seed)
    if a.ks != b.ks or a.values.ndim != b.values.ndim:
        raise ValueError(f"compare: the first has k={a.ks}, the second k={b.ks}; evaluate both at the same.")
    users, in_a, in_b = _paired(a, b)
    differences = PerUser(users, a.values[in_a] - b.values[in_b], a.ks)
    low, high = differences.interval(level, seed=seed)
    p_value = differences.shaped(_p_values(differences.table(), n, seed))
    return Comparison(len(users), differences.mean(), low, high, p_value)


def _compared_pools(a: Pooled, b: Pooled, level: float, n: int, seed: int) -> Comparison:
    """Compare means over interactions; of roots, what is flipped are the differences of the squares."""
    users, in_a, in_b = _paired(a, b)
    if a.root != b.root or not np.array_equal(a.counts[in_a], b.counts[in_b]):
        raise ValueError(
            "compare: the two have other numbers of values; evaluate both models on the same interactions."
        )
    table = np.stack([a.sums[in_a], b.sums[in_b], a.counts[in_a]], axis=1)
    p_value = _p_values(np.ascontiguousarray(table[:, :1] - table[:, 1:2]), n, seed)[0]

    def difference(sums: npt.NDArray[np.float64]) -> Any:
        return a.of_sums(sums[..., 0], sums[..., 2]) - a.of_sums(sums[..., 1], sums[..., 2])

    low, high = interval_of(difference(bootstrapped(table, _DRAWS, seed)), level)
    return Comparison(len(users), float(difference(table.sum(axis=0))), float(low), float(high), float(p_value))


def _p_values(table: npt.NDArray[np.float64], n: int, seed: int) -> npt.NDArray[np.float64]:
    threads = thread_count(-1) if n * table.size > 1_000_000 else 1
    return np.asarray((1 + _core.count_far_flips(table, seed, n, threads)) / (1 + n))


def _paired(a: Measure, b: Measure) -> tuple[npt.NDArray[Any], npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the users that both have, and where each has them."""
    kinds = a.users.dtype.kind, b.users.dtype.kind
    if any(kind in "US" for kind in kinds) and any(kind in "iufb" for kind in kinds):
        raise ValueError("compare: the users of one are strings, those of the other are not; name them alike.")
    users, in_a, in_b = np.intersect1d(a.users, b.users, return_indices=True)
    for each, name in ((a, "first"), (b, "second")):
        if len(np.unique(each.users)) < len(each):
            raise ValueError(f"compare: the {name} has a user twice; give each user once.")
    if len(users) == 0:
        raise ValueError("compare: no user is in both; evaluate both models on the same users.")
    return users, in_a, in_b


def holm(p_values: Sequence[float]) -> list[float]:
    """Return p-values adjusted for their number by Holm's method, in the same order.

    Of many tests some come out small by chance. If all adjusted p-values below a level are taken for real differences,
    the probability that any of them is chance is at most that level.

    Examples
    --------
    >>> [round(p, 3) for p in holm([0.04, 0.01, 0.03])]
    [0.06, 0.03, 0.06]
    """
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * (len(p) - np.arange(len(p))))
    found = np.empty(len(p))
    found[order] = np.minimum(stepped, 1.0)
    return [float(value) for value in found]
