"""Metrics and protocols."""

from bitfm.evaluation.ndcg import ndcg

__all__ = ["ndcg"]
