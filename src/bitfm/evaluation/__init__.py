"""Metrics and protocols."""

from bitfm.evaluation.ndcg import ndcg
from bitfm.evaluation.splits import split_cold_items, split_per_user

__all__ = ["ndcg", "split_cold_items", "split_per_user"]
