"""Metrics, splits, and how sure a result is."""

from bitfm.data.splits import split_by_time, split_cold, split_histories, split_leave_one_out, split_per_user
from bitfm.evaluation.comparison import Comparison, compare, holm
from bitfm.evaluation.lists import coverage, diversity, novelty
from bitfm.evaluation.per_user import PerUser, Pooled
from bitfm.evaluation.ranking import RankMetrics, auc, rank_catalogue, rank_metrics
from bitfm.evaluation.ratings import mae, mae_per_user, ndcg, ndcg_per_user, rmse, rmse_per_user

__all__ = [
    "Comparison",
    "PerUser",
    "Pooled",
    "RankMetrics",
    "auc",
    "compare",
    "coverage",
    "diversity",
    "holm",
    "mae",
    "mae_per_user",
    "ndcg",
    "ndcg_per_user",
    "novelty",
    "rank_catalogue",
    "rank_metrics",
    "rmse",
    "rmse_per_user",
    "split_by_time",
    "split_cold",
    "split_histories",
    "split_leave_one_out",
    "split_per_user",
]
