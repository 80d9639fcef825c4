"""Discrete coordinate descent the published way, in NumPy: one Gram matrix per row, in double precision.

The baseline of ``bitfm bench train``. Its loop over bits visits only those that disagree with their sign, in the
order of the rule, which gives the same codes and spares it Python's overhead on the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def sweep_rows(
    codes: npt.NDArray[np.float64],
    partner_codes: npt.NDArray[np.float64],
    rows: Any,
    delegate: npt.NDArray[np.float64],
    beta: float,
    passes: int,
) -> int:
    """Update every row of ``codes`` (-1 and +1) in place; returns the number of flips.

    ``rows`` is a CSR matrix: partners and targets of each row.
    """
    flips = 0
    for i in range(len(codes)):
        begin, end = rows.indptr[i], rows.indptr[i + 1]
        d = partner_codes[rows.indices[begin:end]]
        gram = d.T @ d
        linear = rows.data[begin:end] @ d + beta * delegate[i]
        flips += descend(codes[i], gram, linear, passes)
    return flips


def descend(
    b: npt.NDArray[np.float64], gram: npt.NDArray[np.float64], linear: npt.NDArray[np.float64], passes: int
) -> int:
    """Visit the bits of b in order and set each to the sign of its b̂ (Eq. 5), keeping it where b̂ is 0."""
    hat = linear - gram @ b + gram.diagonal() * b
    flips = 0
    for _ in range(passes):
        flips_now, t = 0, -1
        while True:
            wrong = np.flatnonzero(hat[t + 1 :] * b[t + 1 :] < 0)
            if len(wrong) == 0:
                break
            t += 1 + int(wrong[0])
            b[t] = -b[t]
            own = hat[t]
            hat -= (2 * b[t]) * gram[:, t]
            hat[t] = own
            flips_now += 1
        flips += flips_now
        if flips_now == 0:
            break
    return flips
