"""Scores of pairs straight from their features, and the table of features they are read from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.data.blocks import Blocks

if TYPE_CHECKING:
    from bitfm.models.codes import CodeModel

__all__ = ["pair_scorer", "records_of"]

_LINE = 64  # bytes


class PairScorer:
    """What is known of a model's features, to score pairs by.

    Its codes, gains and weights are in three places, so that a feature costs three accesses to memory. Once as many
    features have been read as there are, they are copied to one place each, a record, which takes less than half the
    time where the model is larger than the caches. The scores are the same.
    """

    def __init__(self, model: CodeModel) -> None:
        self._arrays = model.codes_, model.gains_, model.weights_
        self._weights = np.ascontiguousarray(model.weights_, np.float32)
        if not np.may_share_memory(self._weights, model.weights_):
            model.weights_.flags.writeable = False  # a change in place would go unnoticed
        self._records: npt.NDArray[np.uint8] | None = None
        self._read = 0

    def is_of(self, model: CodeModel) -> bool:
        """Whether the model is still the same; it may be fitted again."""
        return all(a is b for a, b in zip(self._arrays, (model.codes_, model.gains_, model.weights_), strict=True))

    def score(self, X: Blocks, bias: float, cross: bool, n_threads: int) -> npt.NDArray[np.float64]:
        """Score interactions."""
        design: Any = X.design()
        self._count(X)
        codes, gains, _ = self._arrays
        if self._records is None:
            return _core.score_pairs(design, bias, self._weights, codes, gains, cross, n_threads)
        bits = codes.shape[1] * 8
        return _core.score_pairs_by_records(design, bias, self._records, "codes", bits, cross, n_threads)

    def _count(self, X: Blocks) -> None:
        if self._records is not None:
            return
        tables = [table for block in X.blocks.values() for table in block.tables.values()]
        a_pair = sum(t.n_entries / max(t.n_rows, 1) for t in tables)
        self._read += int(len(X) * a_pair)
        if self._read >= len(self._weights):
            codes, gains, _ = self._arrays
            for array in self._arrays:
                array.flags.writeable = False  # as above
            self._records = records_of(codes, self._weights, gains)


def pair_scorer(model: CodeModel) -> PairScorer:
    """Return what scores the model's pairs, the same as long as the model is."""
    scorer = _scorers.get(model)
    if scorer is None or not scorer.is_of(model):
        scorer = _scorers[model] = PairScorer(model)
    return scorer


_scorers: WeakKeyDictionary[CodeModel, PairScorer] = WeakKeyDictionary()  # not in the model, which is saved and copied


def records_of(
    vectors: npt.NDArray[Any], weights: npt.NDArray[np.float32], scales: npt.NDArray[np.float32]
) -> npt.NDArray[np.uint8]:
    """Return a record a feature: its vector, weight and scale. One of 16 bytes lies in a single line of the cache."""
    as_bytes = np.ascontiguousarray(vectors).view(np.uint8)
    width = as_bytes.shape[1]
    size = width + 8
    size = 1 << (size - 1).bit_length() if size <= _LINE else -(-size // 8) * 8
    records = np.empty((len(weights), size), np.uint8)  # which may get larger pages of memory than zeros
    records[:, :width], records[:, width + 8 :] = as_bytes, 0
    records[:, width : width + 4] = np.ascontiguousarray(weights, np.float32)[:, None].view(np.uint8)
    records[:, width + 4 : width + 8] = np.ascontiguousarray(scales, np.float32)[:, None].view(np.uint8)
    return records
