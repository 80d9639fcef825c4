"""Arrays that are too large for memory and take none: zeros from a file that is one hole."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

_numbers = count()


def hole(folder: Path, dtype: Any, *shape: int, at: Any = None, value: Any = 0) -> np.memmap:
    """Return zeros, but for a value at some place; what is not read takes neither memory nor disk."""
    path = folder / f"hole{next(_numbers)}"
    path.touch()
    os.truncate(path, np.dtype(dtype).itemsize * int(np.prod(shape, dtype=object)))
    array = np.memmap(path, dtype, "r+", shape=shape)
    if at is not None:
        array[at] = value
    return array
