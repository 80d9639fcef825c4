"""A metric of every user, and how sure its mean is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.evaluation._checks import check_seed
from bitfm.validation import check_integer, thread_count

__all__ = ["Mean", "PerUser", "check_level"]

Mean = float | npt.NDArray[np.float64]


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

        Returns
        -------
        low, high : float, or array with one for each k

        Examples
        --------
        >>> from bitfm.evaluation import ndcg_per_user
        >>> rng = np.random.default_rng(0)
        >>> users, truth = np.repeat(np.arange(200), 10), rng.integers(1, 6, 2000)
        >>> each = ndcg_per_user(users, truth, truth + rng.normal(size=2000))
        >>> low, high = each.interval()
        >>> low < each.mean() < high
        True
        """
        outside = (1 - check_level(level)) / 2
        n = check_integer("n", n, 1, 2**31 - 1)
        if not len(self):
            raise ValueError("interval: there are no users to draw from.")
        table = self.table()
        threads = thread_count(-1) if n * table.size > 100_000 else 1
        means = _core.bootstrap_means(table, check_seed(seed), n, threads).reshape(n, -1)
        low, high = np.quantile(means, [outside, 1 - outside], axis=0)
        return self.shaped(low), self.shaped(high)

    def table(self) -> npt.NDArray[np.float64]:
        """Return the values as users × ks."""
        return np.ascontiguousarray(self.values.reshape(len(self), -1 if len(self) else max(1, len(self.ks))))

    def shaped(self, columns: npt.NDArray[np.float64]) -> Mean:
        """Return one value per k as the values are: a number if there is one k alone."""
        return columns if self.values.ndim == 2 else float(columns[0])


def check_level(level: float) -> float:
    """Return the level if it is above 0 and below 1."""
    if not 0 < level < 1:
        raise ValueError(f"level must be above 0 and below 1, got {level!r}.")
    return float(level)
