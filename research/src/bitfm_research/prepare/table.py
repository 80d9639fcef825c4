"""Ratings in a table of any columns."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
from bitfm.data.numbers import parse_numbers
from bitfm.data.times import parse_times

from bitfm_research.prepare._frames import Frame, frames
from bitfm_research.prepare.source import NO_TIME, BadLines, RatingBatch, Source, TextBatch, identifier, number, seconds

if TYPE_CHECKING:
    import polars as pl

__all__ = ["RatingTable"]


class _Rows(NamedTuple):
    """Those rows of a frame that are good."""

    rows: pl.DataFrame
    ratings: npt.NDArray[np.float64]
    times: npt.NDArray[np.int64]
    done: float


class RatingTable(Source):
    r"""One rating per row, in a CSV, TSV or Parquet file; a CSV or TSV file may be compressed with gzip.

    Parameters
    ----------
    path : str or path
        The file. CSV and TSV have a header, are in UTF-8, and put quotation marks round what holds a separator.
    user, item, rating : str
        Names of the columns.
    text : str, optional
        The column of what the user wrote about the item.
    time : str, optional
        The column of times: seconds since 1970, or dates as 2018-07-13 20:15:00.
    separator : str, optional
        What is between columns. By default a tab if the name ends in ``.tsv``, else a comma.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bitfm_research.prepare import prepare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.csv")
    ...     _ = path.write_text("who,what,stars\nann,tea,5\nann,tea,4\nbob,tea,2\n")
    ...     data = prepare(RatingTable(path, user="who", item="what", rating="stars"), min_ratings=1)
    >>> data.users, data.ratings
    (array([0, 1], dtype=int32), array([4.5, 2. ]))
    """

    kind = "csv"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        user: str,
        item: str,
        rating: str,
        text: str | None = None,
        time: str | None = None,
        separator: str | None = None,
    ) -> None:
        super().__init__(path)
        self.user, self.item, self.rating, self.text, self.time = user, item, rating, text, time
        self.separator = separator
        self.has_texts = text is not None

    def ratings(self, bad: BadLines) -> Iterator[RatingBatch]:
        """Read all ratings."""
        for rows, ratings, times, done in self._good_rows(bad):
            yield RatingBatch(as_strings(rows[self.user]), as_strings(rows[self.item]), ratings, times, done)

    def texts(self, bad: BadLines) -> Iterator[TextBatch]:
        """Read all texts."""
        if self.text is not None:
            for rows, _, _, done in self._good_rows(bad, self.text):
                yield TextBatch(as_strings(rows[self.item]), as_strings(rows[self.text]), done)

    def _good_rows(self, bad: BadLines, *also: str) -> Iterator[_Rows]:
        needed = [self.user, self.item, self.rating, *([self.time] if self.time else []), *also]
        for frame in frames(self.path, list(dict.fromkeys(needed)), self.separator):
            rows = frame.rows
            ratings = parse_numbers(rows[self.rating], ".").fill_null(np.nan).to_numpy()
            times, mistimed = _times(rows[self.time]) if self.time else _no_times(len(rows))
            wrong = frame.too_long | mistimed | ~np.isfinite(ratings) | empty(rows[self.user]) | empty(rows[self.item])
            for place in np.flatnonzero(wrong):
                bad.add(self.path, f"row {frame.numbers[place]}", self._problem(frame, int(place)))
            good = ~wrong
            yield _Rows(rows.filter(good) if wrong.any() else rows, ratings[good], times[good], frame.done)

    def _problem(self, frame: Frame, place: int) -> str:
        """Return what is wrong with a row."""
        if frame.too_long[place]:
            return "more columns than the header has"
        row = frame.rows.row(place, named=True)
        try:
            for what, name in (("user", self.user), ("item", self.item)):
                identifier(f"the {what} in column {name!r}", None if row[name] is None else str(row[name]))
            number(f"the rating in column {self.rating!r}", row[self.rating])
            seconds(f"the time in column {self.time!r}", row[self.time] if self.time else None)
        except ValueError as problem:
            return str(problem)
        raise AssertionError(f"{row} was found wrong, but nothing is wrong with it")


def as_strings(column: pl.Series) -> list[str]:
    """Return a column's values as strings, empty where there is none."""
    import polars as pl

    return column.cast(pl.String).fill_null("").to_list()


def empty(column: pl.Series) -> npt.NDArray[np.bool_]:
    """Return where a column has no value, or an empty string."""
    import polars as pl

    return (column.cast(pl.String).fill_null("") == "").to_numpy()


def _no_times(n: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    return np.full(n, NO_TIME, np.int64), np.zeros(n, bool)


def _times(column: pl.Series) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return times in seconds, and where a value is none."""
    times = parse_times(column, "ymd")  # a part of a column cannot tell whether day or month comes first
    return times.fill_null(NO_TIME).to_numpy(), times.is_null().to_numpy() & ~empty(column)
