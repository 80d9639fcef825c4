"""Lines of raw files, and ratings of four columns and no quotes: user, item, rating, time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bitfm_research.prepare._files import open_raw
from bitfm_research.prepare.source import BadLines, RatingBatch, identifier, number, seconds

_BATCH_BYTES = 1 << 22


def separated_ratings(
    path: Path, bad: BadLines, *, separator: str, member: str | None = None, header: bool = False
) -> Iterator[RatingBatch]:
    """Read them from a file, or from a member of a zip archive; a header is not looked at."""
    for first, lines, done in batches_of_lines(path, member):
        users, items, ratings, times = [], [], [], []
        for line_number, line in enumerate(lines, first):
            if line.isspace() or (header and line_number == 1):
                continue
            try:
                user, item, rating, time = _columns(line, separator)
            except ValueError as problem:
                bad.add(path if member is None else f"{path}, {member}", f"line {line_number}", str(problem))
                continue
            users.append(user)
            items.append(item)
            ratings.append(rating)
            times.append(time)
        yield RatingBatch(users, items, np.array(ratings, np.float64), np.array(times, np.int64), done)


def batches_of_lines(path: Path, member: str | None = None) -> Iterator[tuple[int, list[bytes], float]]:
    """Yield a few megabytes of lines at a time: the number of the first, from 1, the lines, and the share read."""
    first = 1
    with open_raw(path, member) as file:
        while lines := file.stream.readlines(_BATCH_BYTES):
            yield first, lines, file.done()
            first += len(lines)


def _columns(line: bytes, separator: str) -> tuple[str, str, float, int]:
    columns = line.decode("latin-1").strip().split(separator)
    if len(columns) != 4:
        raise ValueError(
            f"{len(columns)} columns; expected user, item, rating and time with {separator!r} between them"
        )
    user, item, rating, time = columns
    return (
        identifier("the user", user),
        identifier("the item", item),
        number("the rating", rating),
        seconds("the time", time),
    )
