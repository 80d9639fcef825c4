"""Scores of pairs straight from their features, and the table of features they are read from."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from bitfm.core import score_pairs as native_score_pairs
from bitfm.core import score_pairs_by_records
from bitfm.data.blocks import Blocks
from bitfm.parameters import CodeParameters, towers

__all__ = ["records_of", "score_pairs"]

_LINE, _LEAST_BYTES = 64, 8


def score_pairs(
    parameters: CodeParameters, users: Any, items: Any, block: str | None = None, *, n_threads: int = 1
) -> npt.NDArray[np.float64]:
    """Score pairs of users and items, each given on its own; see `DistilledFM.predict_pairs`."""
    of_users, of_items = towers(parameters, block)
    given = of_users.check("users", users).blocks | of_items.check("items", items).blocks
    blocks = Blocks(**{name: given[name] for name in dict.fromkeys(field.block for field in parameters.fields)})
    scorer = _scorers.get(parameters) or _scorers.setdefault(parameters, _PairScorer(parameters))
    return scorer.score(blocks, n_threads)


class _PairScorer:
    """The parameters in the order that scoring of pairs reads them.

    Codes, gains and weights are in three places, so a feature costs three accesses to memory. Once as many features
    have been read as there are, they are copied to one record each, which takes less than half the time where the model
    is larger than the caches. The scores are the same.
    """

    def __init__(self, parameters: CodeParameters) -> None:
        self._arrays = parameters.codes, parameters.gains, parameters.weights
        self._bias, self._across = parameters.bias, parameters.across
        self._weights = np.ascontiguousarray(parameters.weights, np.float32)
        if not np.may_share_memory(self._weights, parameters.weights):
            parameters.weights.flags.writeable = False  # a change in place would go unnoticed
        self._records: npt.NDArray[np.uint8] | None = None
        self._read = 0

    def score(self, X: Blocks, n_threads: int) -> npt.NDArray[np.float64]:
        """Score interactions."""
        design: Any = X.design()
        codes, gains, _ = self._arrays
        if self._records is None:
            tables = [table for block in X.blocks.values() for table in block.tables.values()]
            self._read += int(len(X) * sum(t.n_entries / max(t.n_rows, 1) for t in tables))
            if self._read >= len(self._weights):
                for array in self._arrays:
                    array.flags.writeable = False  # as above
                self._records = records_of(codes, self._weights, gains)
        if self._records is None:
            return native_score_pairs(design, self._bias, self._weights, codes, gains, self._across, n_threads)
        bits = codes.shape[1] * 8
        return score_pairs_by_records(design, self._bias, self._records, "codes", bits, self._across, n_threads)


# Beside the parameters, which are saved and copied without it.
_scorers: WeakKeyDictionary[CodeParameters, _PairScorer] = WeakKeyDictionary()


def records_of(
    vectors: npt.NDArray[Any], weights: npt.NDArray[np.float32], scales: npt.NDArray[np.float32]
) -> npt.NDArray[np.uint8]:
    """Return one record per feature: its vector, weight and scale. 16 bytes lie in one cache line.

    A code of less than 64 bits is filled up with zeros, so that all of up to 64 are read alike.
    """
    as_bytes = np.ascontiguousarray(vectors).view(np.uint8)
    width = max(as_bytes.shape[1], _LEAST_BYTES)
    size = width + 8
    size = 1 << (size - 1).bit_length() if size <= _LINE else -(-size // 8) * 8
    records = np.empty((len(weights), size), np.uint8)  # which may get larger pages of memory than zeros
    records[:, : as_bytes.shape[1]], records[:, as_bytes.shape[1] :] = as_bytes, 0
    records[:, width : width + 4] = np.ascontiguousarray(weights, np.float32)[:, None].view(np.uint8)
    records[:, width + 4 : width + 8] = np.ascontiguousarray(scales, np.float32)[:, None].view(np.uint8)
    return records
