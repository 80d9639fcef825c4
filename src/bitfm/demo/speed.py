"""How many users a second get their best items, by each model in the way that suits it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from threadpoolctl import threadpool_limits

from bitfm.data import Block
from bitfm.models import FM, CodeModel

__all__ = ["queries_a_second", "search_of"]

_ROUNDS = 7


def queries_a_second(model: Any, users: Block, items: Block, n: int = 10) -> float:
    """Time a batch of all users on one thread, from their features to their best items; the best of some rounds."""
    search = search_of(model, users, items, n)
    seconds = []
    with threadpool_limits(1):
        for _ in range(_ROUNDS):
            begin = time.perf_counter()
            search()
            seconds.append(time.perf_counter() - begin)
    return len(users) / min(seconds)


def search_of(model: Any, users: Block, items: Block, n: int) -> Callable[[], npt.NDArray[np.int64]]:
    """Return a function that finds the best n items of every user; whatever does not depend on users is ready before.

    Parameters
    ----------
    model : BiasModel, FM or a model of codes
        Fitted on blocks of users and items, whose features meet across blocks only.
    users, items : Block
    n : int
    """
    if isinstance(model, CodeModel):
        index = model.index(items, block="item")
        return lambda: index.search(users, n, n_jobs=1)[0]
    of_users, of_items = slice(0, users.n_features), slice(users.n_features, None)
    factors, weights = _factors(model), np.asarray(model.weights_, np.float32)
    features, user_factors = _matrix(users), np.ascontiguousarray(factors[of_users])
    constants = _matrix(items) @ weights[of_items]
    vectors = (_matrix(items) @ factors[of_items]).T.copy()

    def search() -> npt.NDArray[np.int64]:
        scores = (features @ user_factors) @ vectors + constants
        best = np.argpartition(-scores, n - 1, axis=1)[:, :n]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        return np.take_along_axis(best, order, axis=1)

    return search


def _factors(model: Any) -> npt.NDArray[np.float32]:
    """Return factors whose products are the model's; of a Bayesian machine those of all draws, side by side."""
    if not isinstance(model, FM):
        return np.zeros((len(model.weights_), 0), np.float32)
    if not hasattr(model, "samples_"):
        return np.asarray(model.factors_, np.float32)
    draws = np.asarray(model.samples_.factors, np.float32)
    return np.concatenate(list(draws / np.sqrt(np.float32(len(draws)))), axis=1)  # the mean of the draws' scores


def _matrix(block: Block) -> sp.csr_matrix:
    tables = [table.to_csr() for table in block.tables.values()]
    return sp.csr_matrix(sp.hstack(tables, format="csr", dtype=np.float32))[block.rows]
