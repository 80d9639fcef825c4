"""A model fitted to the training part of a split and scored on its test part: one row of a table."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.evaluation import ndcg, rmse
from bitfm.models import FM, CodeModel

from bitfm_research.bench.datasets import Split

__all__ = ["WITH_HISTORY", "Row", "bytes_per_feature", "measure", "named", "scored"]

Row = dict[str, Any]

WITH_HISTORY = ("history", "raters")
_KS = (1, 5, 10)


def measure(split: Split, model: Any, fields: Sequence[str] = ()) -> Row:
    """Fit the model and return its scores, its size, the seconds of the fit and the fields it was given."""
    X, y = split.blocks("train", fields), split.train[2]
    begin = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - begin
    return {
        **scored(split, model.predict(split.blocks("test", fields))),
        "bytes per feature": bytes_per_feature(model),
        "seconds": seconds,
        "fields": named(fields),
    }


def scored(split: Split, scores: npt.NDArray[np.float64]) -> Row:
    """Return how well scores rank and match the ratings of the test part."""
    users, _, truth = split.test
    at = ndcg(users, truth, scores, _KS).tolist()
    return {**{f"NDCG@{k}": value for k, value in zip(_KS, at, strict=True)}, "RMSE": rmse(truth, scores)}


def bytes_per_feature(model: Any) -> int:
    """Return the bytes that a feature takes in the fitted model: all that `predict` reads of it."""
    arrays = [model.weights_]
    if isinstance(model, CodeModel):
        arrays += [model.codes_, model.gains_]
    elif isinstance(model, FM):
        arrays.append(model.samples_.factors if hasattr(model, "samples_") else model.factors_)
    return sum(int(array.nbytes) for array in arrays) // int(model.n_features_in_)


def named(fields: Sequence[str]) -> str:
    """Name the fields of a design, the ids among them."""
    return ", ".join(["ids", *fields])
