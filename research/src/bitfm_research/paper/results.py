"""What was measured, one number per row, kept in a file from which a run goes on where it stopped."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from bitfm.errors import DataFileError

from bitfm_research.bench.results import write_csv

__all__ = ["Measure", "Results"]


@dataclass(frozen=True)
class Measure:
    """One number."""

    dataset: str
    method: str  # its name, and after a semicolon how it differs from the plain one: "DFM, paper; beta=0.1"
    bits: int | None  # length of the codes, or number of factors; None where a method has none, or its own
    seed: int
    metric: str
    k: int | None  # of metrics of the first k
    value: float


_COLUMNS = tuple(field.name for field in fields(Measure))


class Results:
    """All measures so far, in a file that may be there already; every `add` writes it anew, whole or not at all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.measures: list[Measure] = list(_read(path)) if path.exists() else []

    def __iter__(self) -> Iterator[Measure]:
        return iter(self.measures)

    def has(self, dataset: str, method: str, bits: int | None, seed: int, metric: str = "NDCG") -> bool:
        """Whether a method has been measured."""
        return any(
            (m.dataset, m.method, m.bits, m.seed, m.metric) == (dataset, method, bits, seed, metric)
            for m in self.measures
        )

    def value(self, dataset: str, method: str, bits: int | None, seed: int, metric: str) -> float | None:
        """Return a measure without k; None where there is none."""
        key = dataset, method, bits, seed, metric
        found = (m.value for m in self.measures if (m.dataset, m.method, m.bits, m.seed, m.metric) == key)
        return next(found, None)

    def add(self, measures: Iterable[Measure]) -> None:
        """Take more measures, and save all there are."""
        self.measures += measures
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_csv(self.path, [asdict(measure) for measure in self.measures], _COLUMNS)


def _read(path: Path) -> Iterator[Measure]:
    with path.open(newline="", encoding="utf-8") as file:
        lines = csv.reader(file)
        if tuple(next(lines, ())) != _COLUMNS:
            raise DataFileError(f"{path} is not a file of results: its first line must be {','.join(_COLUMNS)}")
        for number, line in enumerate(lines, 2):
            yield _measure(path, number, line)


def _measure(path: Path, number: int, line: Sequence[str]) -> Measure:
    try:
        dataset, method, bits, seed, metric, k, value = line
        return Measure(
            dataset, method, int(bits) if bits else None, int(seed), metric, int(k) if k else None, float(value)
        )
    except ValueError:
        raise DataFileError(
            f"{path}, line {number}: {','.join(line)!r} is not a result; remove the line, or the file to start anew"
        ) from None
