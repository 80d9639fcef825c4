"""Whether two models differ by more than chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bitfm import _core
from bitfm.evaluation._checks import check_seed
from bitfm.evaluation.per_user import Mean, PerUser, check_level
from bitfm.validation import check_integer, thread_count

__all__ = ["Comparison", "compare"]


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
    level : float, default 0.95
        Of the difference's interval; see `PerUser.interval`.
    n : int, default 10,000
        How many times to flip. The p-value is at least 1 / (n + 1).
    seed : int, default 0
        The same seed gives the same result, at any number of threads.

    Examples
    --------
    >>> from bitfm.evaluation import PerUser, compare
    >>> users = np.arange(6)
    >>> compare(PerUser(users, np.full(6, 0.75)), PerUser(users, np.full(6, 0.5)))
    Comparison(n_users=6, difference=0.25, low=0.25, high=0.25, p_value=0.0328...)
    """
    check_level(level)
    n, seed = check_integer("n", n, 1, 2**31 - 1), check_seed(seed)
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
