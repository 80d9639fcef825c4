"""myFM on a split: the same blocks in its own form, on one thread."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from bitfm_research.bench.datasets import Split

__all__ = ["fit_myfm", "relations"]


def fit_myfm(split: Split, fields: Sequence[str], rank: int, n_iter: int, n_samples: int) -> Any:
    """Return a fitted regressor."""
    import myfm

    model = myfm.MyFMRegressor(rank=rank, random_seed=0)
    with threadpool_limits(1), contextlib.redirect_stderr(io.StringIO()):  # it draws progress bars
        model.fit(
            None,
            split.train[2],
            X_rel=relations(split, "train", fields),
            group_shapes=[field.size for field in split.blocks("train", fields).fields],
            n_iter=n_iter,
            n_kept_samples=n_samples,
        )
    return model


def relations(split: Split, part: str, fields: Sequence[str]) -> list[Any]:
    """Return the blocks of a part in myFM's form."""
    import myfm

    return [
        myfm.RelationBlock(
            block.rows.astype(np.int64),
            sp.csr_matrix(sp.hstack([table.to_csr() for table in block.tables.values()]), dtype=np.float64),
        )
        for block in split.blocks(part, fields).blocks.values()
    ]
