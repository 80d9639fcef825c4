"""A metric of every user, and how sure its mean is."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.data.splits import distinct_indices
from bitfm.validation import check_integer, thread_count

__all__ = ["Ks", "Mean", "PerUser", "Pooled", "bootstrapped", "check_draws", "check_ks", "interval_of"]

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
        n, seed = check_draws(level, n, seed)
        low, high = interval_of(bootstrapped(self.table(), n, seed), level)
        return self.shaped(low), self.shaped(high)

    def table(self) -> npt.NDArray[np.float64]:
        """Return the values as users × ks."""
        return np.ascontiguousarray(self.values.reshape(len(self), -1 if len(self) else max(1, len(self.ks))))

    def shaped(self, columns: npt.NDArray[np.float64]) -> Mean:
        """Return one value per k as the values are: a number if there is one k alone."""
        return columns if self.values.ndim == 2 else float(columns[0])


@dataclass(frozen=True, repr=False)
class Pooled:
    """A metric that is a mean over all interactions, not over users: what each user adds to it.

    Attributes
    ----------
    users : array
        The users, each once.
    sums : array of float64
        The sum of each user's values, such as squared errors.
    counts : array of int
        How many values that is.
    root : bool, default False
        Whether the metric is the root of the mean, as RMSE is.

    Examples
    --------
    >>> each = Pooled.of(["Ann", "Ann", "Bob"], [1.0, 1.0, 16.0], root=True)
    >>> each
    Pooled(2 users, 3 values, mean 2.4495)
    """

    users: npt.NDArray[Any]
    sums: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    root: bool = False

    @classmethod
    def of(cls, users: npt.ArrayLike, values: npt.ArrayLike, *, root: bool = False) -> Pooled:
        """Take a value per interaction, and its user."""
        distinct, user = distinct_indices("Pooled", "users", users)
        each = np.asarray(values, np.float64)
        if each.shape != user.shape or not np.isfinite(each).all():
            raise ValueError(f"Pooled: expected a finite value for each of {len(user)} users, got shape {each.shape}.")
        sums = np.asarray(np.bincount(user, each, len(distinct)), np.float64)
        return cls(distinct, sums, np.bincount(user, minlength=len(distinct)), root)

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Pooled({len(self)} users, {self.counts.sum()} values, mean {round(self.mean(), 4)})"

    def mean(self) -> float:
        """Return the mean over all values, or its root; NaN if there are none."""
        return float(self.of_sums(self.sums.sum(), self.counts.sum())) if len(self) else float("nan")

    def interval(self, level: float = 0.95, n: int = 1000, seed: int = 0) -> tuple[float, float]:
        """Return where the mean lies for that share of draws of other users, as `PerUser.interval`.

        Users are drawn with all of their interactions, since those of one user are alike.
        """
        n, seed = check_draws(level, n, seed)
        sums, counts = bootstrapped(np.stack([self.sums, self.counts], axis=1), n, seed).T
        low, high = interval_of(self.of_sums(sums, counts), level)
        return float(low), float(high)

    def of_sums(self, sums: Any, counts: Any) -> Any:
        """Return the metric of sums of values and of counts."""
        means = sums / counts
        return np.sqrt(means) if self.root else means


def bootstrapped(table: npt.NDArray[np.float64], n: int, seed: int) -> npt.NDArray[np.float64]:
    """Return the means of columns over users who were drawn with replacement, n times."""
    if not len(table):
        raise ValueError("interval: there are no users to draw from.")
    threads = thread_count(-1) if n * table.size > 100_000 else 1
    return _core.bootstrap_means(np.ascontiguousarray(table, np.float64), seed, n, threads).reshape(n, -1)


def interval_of(draws: npt.NDArray[np.float64], level: float) -> Any:
    """Return the ends between which that share of draws lies."""
    outside = (1 - level) / 2
    return np.quantile(draws, [outside, 1 - outside], axis=0)


def check_draws(level: float, n: int, seed: int) -> tuple[int, int]:
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
