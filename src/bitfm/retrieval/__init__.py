"""Exact top-N over parameters, and scores of pairs."""

from bitfm.retrieval._selection import Selection
from bitfm.retrieval._sums import ItemSums
from bitfm.retrieval.index import Index, RowCodeSettings
from bitfm.retrieval.pairs import records_of, score_pairs
from bitfm.retrieval.saving import pack_index, unpack_index

__all__ = [
    "Index",
    "ItemSums",
    "RowCodeSettings",
    "Selection",
    "pack_index",
    "records_of",
    "score_pairs",
    "unpack_index",
]
