"""Guesses from the first lines of a text: what is between cells, and whether the first line has names."""

from __future__ import annotations

import contextlib
import csv
from collections import Counter
from collections.abc import Sequence

_SEPARATORS = ("::", "\t", ",", ";", "|")  # the first of equals wins
QUOTES_ARE_RARE = ("::", "\t")  # files of these have bare quotes in their texts more often than quoted cells
_SAMPLE_BYTES = 1 << 16
_SAMPLE_LINES = 100


def guess_separator(content: bytes) -> str:
    """Return the separator that gives all rows the same number of cells, more than one, or comes nearest to it."""
    best, score = ",", 0.0
    for separator in _SEPARATORS:
        lengths = Counter(len(row) for row in sample_rows(content, separator))
        usual, count = lengths.most_common(1)[0] if lengths else (0, 0)
        if usual > 1 and count / lengths.total() > score:
            best, score = separator, count / lengths.total()
    return best


def sample_rows(content: bytes, separator: str) -> list[list[str]]:
    """Return the cells of the first rows."""
    sample = content[:_SAMPLE_BYTES]
    if len(content) > _SAMPLE_BYTES:  # do not judge by half a line, unless there is no other
        sample = sample[: sample.rfind(b"\n") + 1] or content.split(b"\n", 1)[0]
    lines = [line for line in sample.decode(errors="replace").split("\n") if line][:_SAMPLE_LINES]
    if separator not in QUOTES_ARE_RARE and len(separator) == 1:
        with contextlib.suppress(csv.Error):
            return list(csv.reader((line + "\n" for line in lines), delimiter=separator))
    return [[_bare(cell) for cell in line.split(separator)] for line in lines]


def is_header(first: Sequence[str], others: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Return whether the first row holds names of columns: the names expected, or a word above numbers."""
    if [cell.strip().casefold() for cell in first] == [name.strip().casefold() for name in names]:
        return True
    for place, cell in enumerate(first):
        below = [row[place] for row in others if len(row) == len(first) and row[place].strip()]
        if cell.strip() and not _is_number(cell) and below and all(map(_is_number, below)):
            return True
    return False


def _bare(cell: str) -> str:
    return cell[1:-1].replace('""', '"') if len(cell) > 1 and cell[0] == cell[-1] == '"' else cell


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
