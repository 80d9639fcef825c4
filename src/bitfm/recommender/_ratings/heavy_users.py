"""Which interactions to learn from: all of them, unless a user has had far too many."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["counted"]

_NEVER_TOO_MANY = 5000
_TIMES_MEDIAN = 20
_SHARE = 0.1  # of all that count: with more, one user decides on the noise, the priors and the codes of all others


def counted(users: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which interactions count, given the index of each one's user: of bots and test accounts, not all.

    A user may have 5000 interactions, or 20 times the median user's, or a tenth of all that count, whichever is most.
    Of more, so many count, evenly spaced.
    """
    counts = np.bincount(users)
    least = max(_NEVER_TOO_MANY, _TIMES_MEDIAN * float(np.median(counts[counts > 0])))
    most = int(counts.max())
    while (less := int(max(least, _SHARE * float(np.minimum(counts, most).sum())))) < most:
        most = less
    count = np.ones(len(users), bool)
    for user in np.flatnonzero(counts > most):
        rows = np.flatnonzero(users == user)
        count[rows] = False
        count[rows[np.arange(most) * len(rows) // most]] = True
    return count
