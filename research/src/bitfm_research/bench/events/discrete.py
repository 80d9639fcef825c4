"""The paper's codes on events: by the squared error of 1 and of 0 for items drawn, and by pairs of items (DPR)."""

from __future__ import annotations

from functools import partial
from itertools import product

import numpy as np
import numpy.typing as npt
from bitfm import Block, Blocks, DiscreteFM
from bitfm.core import multiply
from bitfm.data import FeatureTable
from bitfm.models.solvers.event_pairs import EventPairs
from bitfm.validation import thread_count

from bitfm_research.bench.events.protocol import Scorer, Split

__all__ = ["BITS", "SETTINGS", "event_pairs", "id_blocks", "pairwise", "squared"]

BITS = 64
_ITERATIONS = 10  # of each stage: more of them change little
SETTINGS = list(product((100.0, 1000.0, 10000.0), (10.0, 100.0), (4, 16)))  # alpha, beta, negatives

Setting = tuple[float, float, int]


def pairwise(split: Split, setting: Setting) -> Scorer:
    """Fit by ``loss="bpr"``."""
    return _scorer(split, _model(split, setting, "bpr").fit(id_blocks(split, *event_pairs(split))))


def squared(split: Split, setting: Setting) -> Scorer:
    """Fit by squared error, to the same items drawn."""
    users, items = event_pairs(split)
    drawn = EventPairs.draw(id_blocks(split, users, items), setting[2], np.random.default_rng(split.seed))
    X = id_blocks(split, np.append(users, users[drawn.event]), np.append(items, drawn.drawn))
    return _scorer(split, _model(split, setting, "squared").fit(X, np.arange(len(X)) < len(users)))


def _model(split: Split, setting: Setting, loss: str) -> DiscreteFM:
    make = partial(DiscreteFM, BITS, init_iter=_ITERATIONS, max_iter=_ITERATIONS, random_state=split.seed)
    alpha, beta, negatives = setting
    return make(loss=loss, alpha=alpha, beta=beta, negatives=negatives)


def event_pairs(split: Split) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
    """Return the user and the item of each event."""
    indptr, items, _ = split.train.by_user.arrays()
    return np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), items


def id_blocks(split: Split, users: npt.NDArray[np.intp], items: npt.NDArray[np.integer]) -> Blocks:
    """Return users and items by their ids."""
    rows = {"user": (users, split.train.shape[0]), "item": (items, split.train.shape[1])}
    return Blocks(**{name: Block(row, {"id": FeatureTable.eye(size)}) for name, (row, size) in rows.items()})


def _scorer(split: Split, model: DiscreteFM) -> Scorer:
    vectors = model.parameters_.vectors(np.arange(model.n_features_in_))
    users, items = np.split(vectors, [split.train.shape[0]])
    weights = model.weights_[len(users) :].astype(np.float32)
    return lambda which: multiply(users[which], items.T, thread_count(-1)) + weights
