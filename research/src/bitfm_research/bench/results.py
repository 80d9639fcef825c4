"""What a benchmark leaves behind: a summary over seeds, a CSV with one row per seed, and a picture."""

from __future__ import annotations

import csv
import io
import shlex
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bitfm.atomic import atomic_write

from bitfm_research.bench import plots
from bitfm_research.bench.measure import Row

__all__ = ["Results", "command_line", "over_seeds", "spread", "write_csv"]

_DIGITS = {
    **dict.fromkeys(("NDCG@1", "NDCG@5", "NDCG@10", "NDCG@20", "Recall@20", "difference", "RMSE"), 4),
    **{"coverage": 3, "bytes per feature": 0, "bytes per item": 0, "seconds": 1},
}


class Results:
    """Rows as they come, each batch saved at once, so that a run that is cut short loses only what it was at.

    Parameters
    ----------
    folder : Path or None
        Where ``<name>.csv``, ``<name>.png`` and ``<name>.svg`` go; with None nothing is saved.
    name : str
    draw : called with all rows so far; returns a figure. None: no picture.
    command : str
        Said in every row of the CSV.
    say : called with a remark
    """

    def __init__(
        self,
        folder: Path | None,
        name: str,
        draw: Callable[[Sequence[Row]], Any] | None,
        command: str,
        say: Callable[[str], None],
    ) -> None:
        self.rows: list[Row] = []
        self._base = None if folder is None else folder / name
        self._draw, self._command = draw if plots.available() else None, command
        if self._base is not None:
            self._base.parent.mkdir(parents=True, exist_ok=True)
            if draw is not None and self._draw is None:
                say(f"there will be no picture beside {self._base}.csv: {plots.MISSING}")

    def add(self, rows: Sequence[Row]) -> None:
        """Take more rows and save all there are."""
        self.rows += rows
        if self._base is not None:
            write_csv(self._base.with_suffix(".csv"), [{**row, "command": self._command} for row in self.rows])
            if self._draw is not None:
                plots.save(self._draw(self.rows), self._base)


def over_seeds(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """Turn the rows that agree in `by`, one per seed, into one: numbers as mean and spread, and all their seeds."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.get(name) for name in by), []).append(row)
    return [
        {
            **dict(zip(by, key, strict=True)),
            **{name: _mean(name, [row[name] for row in group]) for name in _DIGITS if name in group[0]},
            **({"fields": " | ".join(dict.fromkeys(row["fields"] for row in group))} if "fields" in group[0] else {}),
            "seeds": ", ".join(str(row["seed"]) for row in group),
        }
        for key, group in groups.items()
    ]


def _mean(name: str, values: Sequence[float | None]) -> str | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    text = spread(known, _DIGITS[name])
    return f"+{text}" if name == "difference" and not text.startswith("-") else text


def spread(values: Sequence[float], digits: int = 4) -> str:
    """Return the mean, and ± the sample's standard deviation if the values differ.

    >>> spread([0.7, 0.8], 2), spread([3.14159])
    ('0.75 ± 0.07', '3.1416')
    """
    mean = f"{statistics.fmean(values):,.{digits}f}"
    return mean if len(set(values)) == 1 else f"{mean} ± {statistics.stdev(values):,.{digits}f}"


def write_csv(path: Path, rows: Sequence[Row], names: Sequence[str] = ()) -> None:
    """Write rows, all at once or not at all; a column that a row lacks is empty."""
    text = io.StringIO(newline="")
    table = csv.DictWriter(
        text, names or list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n"
    )
    table.writeheader()
    table.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    with atomic_write(path) as file:
        file.write(text.getvalue().encode())


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def command_line(command: str, group: str | None = "bench", **options: Any) -> str:
    """Return what to type for this result: the options that were given; where the data lie is the reader's own.

    >>> command_line("accuracy", dataset=["yelp"], bits=[8, 64], first_seed=1, quick=True)
    'bitfm bench accuracy --dataset yelp --bits 8 --bits 64 --first-seed 1 --quick'
    """
    words = ["bitfm", *([group] if group else []), command]
    for name, value in options.items():
        option = name.replace("_", "-")
        for item in value if isinstance(value, list | tuple) else [value]:
            if item is True:
                words.append(f"--{option}")
            elif item is not None and item is not False:
                words += [f"--{option}", str(item)]
    return shlex.join(words)
