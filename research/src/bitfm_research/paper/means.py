"""Measures to look up: the mean over seeds of whatever was measured."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from bitfm_research.paper.names import FROM_DUMPS, SIZES, WITH_FEATURES
from bitfm_research.paper.results import Measure
from bitfm_research.paper.user_scores import UserScores

__all__ = ["Means"]


class Means:
    """The means over seeds. A value that is not a finite number counts as not measured.

    Examples
    --------
    >>> from bitfm_research.paper.means import Means
    >>> from bitfm_research.paper.results import Measure
    >>> means = Means(Measure("yelp", "DCF", 8, seed, "NDCG", 10, value) for seed, value in enumerate([0.75, 0.77]))
    >>> round(means.ndcg("yelp", "DCF", 8, 10), 4), means.ndcg("yelp", "DCF", 16, 10)
    (0.76, None)
    """

    def __init__(self, measures: Iterable[Measure], users: UserScores | None = None) -> None:
        self.users = users  # for paired tests, where they are kept
        values: dict[tuple[str, str, int | None, str, int | None], list[float]] = {}
        for m in measures:
            if math.isfinite(m.value):
                values.setdefault((m.dataset, m.method, m.bits, m.metric, m.k), []).append(m.value)
        self._means = {key: statistics.fmean(group) for key, group in values.items()}
        self._spreads = {key: statistics.stdev(group) for key, group in values.items() if len(group) > 1}

    def value(self, dataset: str, method: str, bits: int | None, metric: str, k: int | None = None) -> float | None:
        """Return a mean, or None where there is none."""
        return self._means.get((dataset, method, bits, metric, k))

    def spread(self, dataset: str, method: str, bits: int | None, metric: str, k: int | None = None) -> float | None:
        """Return the standard deviation over seeds, or None where there are fewer than two."""
        return self._spreads.get((dataset, method, bits, metric, k))

    def ndcg(self, dataset: str, method: str, bits: int | None, k: int) -> float | None:
        """Return NDCG@k."""
        return self.value(dataset, method, bits, "NDCG", k)

    def curve(self, dataset: str, method: str, bits: int | None) -> dict[int, float]:
        """Return NDCG@k by k, in the order of k."""
        found = {
            key[4]: mean
            for key, mean in self._means.items()
            if key[:4] == (dataset, method, bits, "NDCG") and key[4] is not None
        }
        return {k: found[k] for k in sorted(found)}

    def settings(self, dataset: str, method: str, name: str, bits: int) -> dict[float, float]:
        """Return NDCG@10 by the values of a setting that stands in the method's name."""
        begin = f"{method}; {name}="
        found: dict[float, float] = {}
        for (d, m, b, metric, k), mean in self._means.items():
            if (d, b, metric, k) == (dataset, bits, "NDCG", 10) and m.startswith(begin):
                found[float(m.removeprefix(begin))] = mean
        return {x: found[x] for x in sorted(found)}

    def pairs(self, dataset: str, what: str) -> int:
        """Return how many pairs of users and items Table 1 is about: all of the paper's, unless the rows say less."""
        found = {int(m) for (d, *_, metric, _), m in self._means.items() if (d, metric) == (dataset, f"pairs, {what}")}
        return min(found, default=math.prod(SIZES[dataset]))

    def scores_all_pairs(self, dataset: str, what: str) -> bool:
        """Whether these are the paper's, and its times may stand beside ours."""
        return self.pairs(dataset, what) >= 0.999 * math.prod(SIZES[dataset])  # the file keeps six digits

    def with_features(self) -> tuple[str, ...]:
        """Return the data sets whose items have features: the public ones, and those from dumps that were run."""
        return (*WITH_FEATURES, *(name for name in FROM_DUMPS if self.runs(name)))

    def runs(self, dataset: str) -> list[tuple[str, int | None]]:
        """Return the methods of a data set that have an NDCG, with their bits, in the order of the rows."""
        return list(dict.fromkeys((m, b) for d, m, b, metric, _ in self._means if (d, metric) == (dataset, "NDCG")))
