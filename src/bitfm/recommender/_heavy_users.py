"""Which interactions to learn from: all of them, unless a user has had far too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["counted"]

_NEVER_TOO_MANY = 5000
_TIMES_MEDIAN = 20
_SHARE = 0.1  # of all that count: with more, one user decides on the noise, the priors and the codes of all others


def counted(users: npt.NDArray[Any], items: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which interactions count, given the indices of users and items: of bots and test accounts, not all.

    A user may have 5000 interactions, or 20 times the median user's, or a tenth of all that count, whichever is most.
    Of more, so many count, evenly spaced: those of items that others have had, too, and if these are fewer than 5000,
    some more. Items that such a user alone has had tell nothing of others, and would make all items look rare.
    """
    counts = np.bincount(users)
    least = max(_NEVER_TOO_MANY, _TIMES_MEDIAN * float(np.median(counts[counts > 0])))
    most = int(counts.max())
    while (less := int(max(least, _SHARE * float(np.minimum(counts, most).sum())))) < most:
        most = less
    count = np.ones(len(users), bool)
    heavy = np.flatnonzero(counts > most)
    times = np.bincount(items) if len(heavy) else items
    for user in heavy:
        rows = np.flatnonzero(users == user)
        common = times[items[rows]] > np.bincount(items[rows])[items[rows]]
        count[rows] = False
        count[_spaced(rows[common], most)] = True
        count[_spaced(rows[~common], _NEVER_TOO_MANY - int(common.sum()))] = True
    return count


def _spaced(rows: npt.NDArray[np.intp], n: int) -> npt.NDArray[np.intp]:
    """Return n of the rows at most, at equal distances."""
    n = min(max(n, 0), len(rows))
    return rows[np.arange(n) * len(rows) // max(n, 1)]
