"""A method beside its baselines, length by length and K by K."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bitfm_research.paper.claim import Tested, percent
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, KS, plain, spoken
from bitfm_research.paper.paired import Run, tested
from bitfm_research.paper.user_scores import AT_10, MEAN_OVER_K

__all__ = ["Comparison", "compare"]


@dataclass(frozen=True)
class _Cell:
    bits: int
    k: int
    ours: float
    theirs: Mapping[str, float]

    @property
    def best(self) -> float:
        return max(self.theirs.values())

    @property
    def difference(self) -> float:
        return 100 * (self.ours / self.best - 1)


@dataclass(frozen=True)
class Comparison:
    """A method and the best of its baselines wherever both were measured."""

    subject: str
    baselines: tuple[str, ...]  # those of which anything was measured
    cells: tuple[_Cell, ...]  # one per length and K
    missing: tuple[str, ...]  # the baselines of which nothing was measured
    partial: bool  # whether a length, a K or a baseline is missing somewhere
    tested: Tested | None = None  # against the best baseline of each length, where the NDCG of the users is there

    @property
    def average(self) -> float | None:
        """The difference in per cent, averaged over lengths and K."""
        return statistics.fmean(cell.difference for cell in self.cells) if self.cells else None

    @property
    def lowest(self) -> float | None:
        """The smallest difference of all, in per cent."""
        return min((cell.difference for cell in self.cells), default=None)

    def by_length(self) -> dict[int, float]:
        """Return the difference in per cent by length, averaged over K."""
        lengths = sorted({cell.bits for cell in self.cells})
        return {b: statistics.fmean(c.difference for c in self.cells if c.bits == b) for b in lengths}

    def not_below(self) -> list[str]:
        """Say which baselines are as good or better, and where."""
        return [
            f"{spoken(baseline)} {value:.4f} against {cell.ours:.4f} at {cell.bits} bits"
            for cell in self.cells
            for baseline, value in cell.theirs.items()
            if value >= cell.ours
        ]

    def told(self) -> str:
        """Say the means and the differences at each length."""
        if not self.cells:
            return "Not run."
        ours, best = (statistics.fmean(getattr(cell, name) for cell in self.cells) for name in ("ours", "best"))
        names = ", ".join(spoken(baseline) for baseline in self.baselines)
        whom = names if len(self.baselines) == 1 else f"the best of {names}"
        lengths = ", ".join(f"{percent(value)} at {bits}" for bits, value in self.by_length().items())
        return f"{spoken(self.subject)} has {ours:.4f} on average, {whom} {best:.4f}: {lengths} bits.{self.not_run()}"

    def not_run(self) -> str:
        """Say which baselines are missing."""
        return f" Not run: {', '.join(spoken(baseline) for baseline in self.missing)}." if self.missing else ""


def compare(
    means: Means,
    dataset: str,
    subject: str,
    baselines: Sequence[str],
    *,
    bits: Iterable[int] = BITS,
    ks: Iterable[int] = KS,
) -> Comparison:
    """Compare a method with the best baseline at each length and K; a baseline without a length is the same at each.

    Examples
    --------
    >>> from bitfm_research.paper.compare import compare
    >>> from bitfm_research.paper.means import Means
    >>> from bitfm_research.paper.results import Measure
    >>> rows = [("DFM, paper", 0.84), ("DCF", 0.8), ("BCCF", 0.7)]
    >>> means = Means(Measure("yelp", method, 8, 0, "NDCG", 10, value) for method, value in rows)
    >>> round(compare(means, "yelp", "DFM, paper", ["BCCF", "DCF"]).average, 2)
    5.0
    """
    cells: list[_Cell] = []
    gaps: set[str] = set()
    lengths, ks = tuple(bits), tuple(ks)
    for length in lengths:
        for k in ks:
            found = {baseline: _ndcg(means, dataset, baseline, length, k) for baseline in baselines}
            known = {baseline: value for baseline, value in found.items() if value}
            there = {plain(baseline) for baseline in known}  # given features or not: one of the two will do
            gaps.update(plain(baseline) for baseline in baselines if plain(baseline) not in there)
            ours = _ndcg(means, dataset, subject, length, k)
            if ours is not None and known:
                cells.append(_Cell(length, k, ours, known))
    seen = {baseline for cell in cells for baseline in cell.theirs}
    there = {plain(baseline) for baseline in seen}
    return Comparison(
        subject,
        tuple(baseline for baseline in baselines if baseline in seen),
        tuple(cells),
        tuple(dict.fromkeys(plain(baseline) for baseline in baselines if plain(baseline) not in there)),
        partial=bool(gaps) or len(cells) < len(lengths) * len(ks),
        tested=_tested(means, dataset, subject, cells, ks),
    )


def _tested(means: Means, dataset: str, subject: str, cells: Sequence[_Cell], ks: Sequence[int]) -> Tested | None:
    """Test the method against the baseline that is best on average over K, length by length."""
    ours: list[Run] = []
    theirs: list[Run] = []
    for bits in sorted({cell.bits for cell in cells}):
        here = [cell for cell in cells if cell.bits == bits]
        names = set.intersection(*(set(cell.theirs) for cell in here))
        if not names:
            return None
        best = max(sorted(names), key=lambda name: sum(cell.theirs[name] for cell in here))
        for runs, method in ((ours, subject), (theirs, best)):
            runs.append((method, bits if means.ndcg(dataset, method, bits, ks[-1]) is not None else None))
    return tested(means.users, dataset, ours, theirs, AT_10 if tuple(ks) == (10,) else MEAN_OVER_K) if cells else None


def _ndcg(means: Means, dataset: str, method: str, bits: int, k: int) -> float | None:
    value = means.ndcg(dataset, method, bits, k)
    return means.ndcg(dataset, method, None, k) if value is None else value
