"""How good a recommender is: the measures by name, how sure they are, and a picture of them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from bitfm.html import table

if TYPE_CHECKING:
    from bitfm.evaluation import PerUser, Pooled

__all__ = ["LABELS", "Evaluation"]

LABELS = {  # what tables show, in their order
    "ndcg": "NDCG@{k}",
    "rmse": "RMSE",
    "mae": "MAE",
    "recall": "recall@{k}",
    "precision": "precision@{k}",
    "map": "MAP@{k}",
    "mrr": "MRR@{k}",
    "hit_rate": "hit rate@{k}",
    "coverage": "coverage@{k}",
    "novelty": "novelty@{k}",
    "diversity": "diversity@{k}",
}


@dataclass(frozen=True)
class Evaluation:
    """What `Recommender.evaluate` found.

    Attributes
    ----------
    ndcg : float
        NDCG@k. Of ratings: each user's held-out items ranked, with gain 2^r − 1. Of events: the whole catalogue ranked.
    k : int
    users, interactions : int
        How many there were to test on.
    rmse, mae : float or None
        Of ratings, over all of them.
    hit_rate, mrr, recall, precision, map : float or None
        Of events: means over users, or over interactions if each is ranked by itself. The share with a hit among the
        first k; 1 / the rank of the first hit; the share of the held-out items that is found; the share of the first k
        that is held out; the precision at each hit, averaged.
    coverage, novelty, diversity : float or None
        Of events: the share of all items that is recommended to anybody; how few users have had what is recommended,
        in bits; how unlike each other the items of a list are, by their codes, from 0 to 2. See `bitfm.evaluation`.
    measures : mapping of name to PerUser or Pooled
        The measures that are means, by user: for intervals, and to compare with another model by
        `bitfm.evaluation.compare`.

    Examples
    --------
    >>> Evaluation(ndcg=0.81, k=10, users=6040, interactions=497000, rmse=0.85, mae=0.67).rows()
    {'NDCG@10': 0.81, 'RMSE': 0.85, 'MAE': 0.67}
    """

    ndcg: float
    k: int
    users: int
    interactions: int
    rmse: float | None = None
    mae: float | None = None
    hit_rate: float | None = None
    mrr: float | None = None
    recall: float | None = None
    precision: float | None = None
    map: float | None = None
    coverage: float | None = None
    novelty: float | None = None
    diversity: float | None = None
    measures: Mapping[str, PerUser | Pooled] = field(default_factory=dict, repr=False, compare=False)

    def rows(self) -> dict[str, float]:
        """Return the measures by the names that tables show."""
        values = {label: getattr(self, name) for name, label in self.labels().items()}
        return {label: value for label, value in values.items() if value is not None}

    def _repr_html_(self) -> str:
        tested = f"Evaluation on {self.interactions:,} interactions of {self.users:,} users"
        between = self.intervals()
        rows = [(label, value, *between.get(label, ("", ""))) for label, value in self.rows().items()]
        head = ("", "", "low", "high") if between else ()
        return table(rows if between else self.rows().items(), head=head, caption=tested)

    def labels(self) -> dict[str, str]:
        """Return what tables call the measures, by the names of the attributes."""
        return {name: label.format(k=self.k) for name, label in LABELS.items()}

    def intervals(self, level: float = 0.95, n: int = 1000, seed: int = 0) -> dict[str, tuple[float, float]]:
        """Return between what each measure lies if other users are drawn, by the names that tables show.

        Coverage is no mean over users and has none. Nothing has one with fewer than two users.

        Parameters
        ----------
        level, n, seed : as for `bitfm.evaluation.PerUser.interval`
        """
        found = {}
        for name, label in self.labels().items():
            if name in self.measures and len(self.measures[name]) > 1:
                low, high = self.measures[name].interval(level, n, seed)
                found[label] = float(low), float(high)
        return found

    def plot(self, path: str | os.PathLike[str], *, name: str = "ours", **others: Evaluation) -> None:
        """Draw the measures with their intervals over users into a file, ``.svg`` or ``.png``; needs matplotlib.

        Parameters
        ----------
        path : path of the picture
        name : str, default "ours"
            What to call this one.
        **others : Evaluation
            More of them to show beside it, by name.
        """
        from bitfm.plotting import save_as
        from bitfm.recommender._evaluation_plot import figure_of

        save_as(path, lambda: figure_of({name: self, **others}))


def evaluation_of(k: int, users: int, interactions: int, measures: Mapping[str, Any], **more: float) -> Evaluation:
    """Return an evaluation of measures by user, and of others."""
    means = {name: float(each.mean()) for name, each in measures.items()}
    return Evaluation(k=k, users=users, interactions=interactions, measures=measures, **means, **more)
