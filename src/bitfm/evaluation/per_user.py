"""A metric of every user, how sure its mean is, and whether two models differ by more than chance."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.validation import check_integer, thread_count

__all__ = ["Comparison", "Ks", "Mean", "PerUser", "check_ks", "compare"]

Mean: TypeAlias = float | npt.NDArray[np.float64]
Ks: TypeAlias = int | Iterable[int]


@dataclass(frozen=True, repr=False)
class PerUser:
    """A metric of every user: what a mean over users is made of.

    Attributes
    ----------
    users : array
        The users that count, each once.
    values : array of float64, users or users × ks
        The metric of each; one column per k where there are several.
    ks : tuple of int
        Empty where the metric has none.

    Examples
    --------
    >>> from bitfm.evaluation import ndcg_per_user
    >>> each = ndcg_per_user(["Ann", "Ann", "Bob", "Bob"], [5, 1, 2, 4], [0.9, 0.1, 0.8, 0.2], k=1)
    >>> each
    PerUser(2 users, k=1, mean 0.6)
    >>> each.users, each.values
    (array(['Ann', 'Bob'], dtype='<U3'), array([1. , 0.2]))
    """

    users: npt.NDArray[Any]
    values: npt.NDArray[np.float64]
    ks: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        n_columns = self.values.shape[1:] if self.values.ndim == 2 else (min(len(self.ks), 1),)
        if self.values.ndim not in (1, 2) or n_columns != (len(self.ks),) or self.users.shape != self.values.shape[:1]:
            raise ValueError(
                f"PerUser: expected a value for each user and k, got {self.values.shape} values for "
                f"{self.users.shape} users and {len(self.ks)} ks."
            )
        if not np.isfinite(self.values).all():
            raise ValueError("PerUser: values must be finite, but some are NaN or infinite; leave those users out.")

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        k = f", k={', '.join(map(str, self.ks))}" if self.ks else ""
        return f"PerUser({len(self)} users{k}, mean {np.round(self.mean(), 4)})"

    def mean(self) -> Mean:
        """Return the mean over users, or one for each k; NaN if there are no users."""
        columns = np.ascontiguousarray(self.table().T)  # each by itself, so that a mean does not depend on the others
        return self.shaped(columns.mean(axis=1) if len(self) else np.full(len(columns), np.nan))

    def interval(self, level: float = 0.95, n: int = 1000, seed: int = 0) -> tuple[Mean, Mean]:
        """Return where the mean lies for that share of draws of other users, by the percentile bootstrap.

        It answers how much the mean depends on who happens to be among the users, not what another split or another
        seed of the model would change.

        Parameters
        ----------
        level : float, default 0.95
            The share of draws between the ends, above 0 and below 1.
        n : int, default 1000
            How many times to draw as many users as there are, with replacement.
        seed : int, default 0
            The same seed gives the same interval, at any number of threads.

        Examples
        --------
        >>> from bitfm.evaluation import rmse_per_user
        >>> rng = np.random.default_rng(0)
        >>> each = rmse_per_user(np.repeat(np.arange(200), 10), np.zeros(2000), rng.normal(size=2000))
        >>> low, high = each.interval()
        >>> low < each.mean() < high
        True
        """
        n, seed = _check_draws(level, n, seed)
        if not len(self):
            raise ValueError("interval: there are no users to draw from.")
        table = self.table()
        threads = thread_count(-1) if n * table.size > 100_000 else 1
        means = _core.bootstrap_means(table, seed, n, threads).reshape(n, -1)
        outside = (1 - level) / 2
        low, high = np.quantile(means, [outside, 1 - outside], axis=0)
        return self.shaped(low), self.shaped(high)

    def table(self) -> npt.NDArray[np.float64]:
        """Return the values as users × ks."""
        return np.ascontiguousarray(self.values.reshape(len(self), -1 if len(self) else max(1, len(self.ks))))

    def shaped(self, columns: npt.NDArray[np.float64]) -> Mean:
        """Return one value per k as the values are: a number if there is one k alone."""
        return columns if self.values.ndim == 2 else float(columns[0])


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


def compare(a: PerUser, b: PerUser, *, level: float = 0.95, n: int = 10_000, seed: int = 0) -> Comparison:
    """Compare two models user by user.

    The signs of the users' differences are flipped at random, as chance would if the models were equally good: the
    p-value is the share of flips whose sum is as far from 0 as the true one, the true one counted among them. Nothing
    is assumed about how the differences spread.

    Parameters
    ----------
    a, b : PerUser
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
    n, seed = _check_draws(level, n, seed)
    if a.ks != b.ks or a.values.ndim != b.values.ndim:
        raise ValueError(f"compare: the first has k={a.ks}, the second k={b.ks}; evaluate both at the same.")
    differences = _paired(a, b)
    table = differences.table()
    threads = thread_count(-1) if n * table.size > 1_000_000 else 1
    far = _core.count_far_flips(table, seed, n, threads)
    low, high = differences.interval(level, seed=seed)
    p_value = differences.shaped((1 + far) / (1 + n))
    return Comparison(len(differences), differences.mean(), low, high, p_value)


def _paired(a: PerUser, b: PerUser) -> PerUser:
    """Return the differences of the users that both have."""
    kinds = a.users.dtype.kind, b.users.dtype.kind
    if any(kind in "US" for kind in kinds) and any(kind in "iufb" for kind in kinds):
        raise ValueError("compare: the users of one are strings, those of the other are not; name them alike.")
    users, in_a, in_b = np.intersect1d(a.users, b.users, return_indices=True)
    for each, name in ((a, "first"), (b, "second")):
        if len(np.unique(each.users)) < len(each):
            raise ValueError(f"compare: the {name} has a user twice; give each user once.")
    if len(users) == 0:
        raise ValueError("compare: no user is in both; evaluate both models on the same users.")
    return PerUser(users, a.values[in_a] - b.values[in_b], a.ks)


def _check_draws(level: float, n: int, seed: int) -> tuple[int, int]:
    """Return the number of draws and the seed if they, and the level, are in range."""
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level!r}.")
    return check_integer("n", n, 1, 2**31 - 1), check_integer("seed", seed, 0, 2**64 - 1)


def check_ks(k: Ks) -> tuple[tuple[int, ...], bool]:
    """Return the ks, and whether they are several, each with a column of its own."""
    several = isinstance(k, Iterable)
    ks = tuple(check_integer("k", one, 1, 2**31 - 1) for one in (k if isinstance(k, Iterable) else [k]))
    if not ks:
        raise ValueError("k: expected a whole number or several, got none.")
    return ks, several
