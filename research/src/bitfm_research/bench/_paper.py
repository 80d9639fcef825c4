"""The paper's own two sets, ids only, on the paper's own split."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from bitfm_research.bench.ratings import Ratings


def read_paper(folder: Path, name: str) -> Ratings:
    """Read ``paper/train_<name>.mat`` and ``paper/test_<name>.mat``."""
    train, test = (_matrix(folder / "paper" / f"{part}_{name}.mat") for part in ("train", "test"))
    return Ratings(
        np.concatenate([train.row, test.row], dtype=np.int32),
        np.concatenate([train.col, test.col], dtype=np.int32),
        np.concatenate([train.data, test.data], dtype=np.float64, casting="unsafe"),
        train=np.arange(train.nnz + test.nnz) < train.nnz,
    )


def _matrix(path: Path) -> Any:
    return scipy.io.loadmat(str(path))[f"{path.stem}_Matrix"].tocoo()  # SciPy names a missing file only if a string
