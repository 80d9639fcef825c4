"""What every source of raw ratings gives, and what becomes of its bad lines."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data.numbers import parse_number
from bitfm.data.times import parse_time
from bitfm.errors import DataFileError

__all__ = ["NO_TIME", "BadLines", "RatingBatch", "Source", "TextBatch", "identifier", "number", "seconds"]

NO_TIME = -(2**63)  # where a rating has none


@dataclass(frozen=True)
class RatingBatch:
    """Ratings as read, and the share of the source that has been read by now."""

    users: Sequence[str]
    items: Sequence[str]
    ratings: npt.NDArray[np.float64]
    times: npt.NDArray[np.int64]
    done: float


@dataclass(frozen=True)
class TextBatch:
    """Texts as read, each with its item, and the share of the source that has been read by now."""

    items: Sequence[str]
    texts: Sequence[str]
    done: float


class BadLines:
    """What to do about a line that cannot be read: stop with its place, or count it and go on.

    Parameters
    ----------
    skip : bool, default False
        Count it and go on.

    Examples
    --------
    >>> bad = BadLines(skip=True)
    >>> bad.add("ratings.csv", "row 7", "the rating 'x' is not a number")
    >>> bad.count
    1
    >>> BadLines().add("ratings.csv", "row 7", "the rating 'x' is not a number")
    Traceback (most recent call last):
    bitfm.errors.DataFileError: ratings.csv, row 7: the rating 'x' is not a number
    """

    def __init__(self, skip: bool = False) -> None:
        self.skip = skip
        self.count = 0

    def add(self, path: str | os.PathLike[str], place: str, problem: str) -> None:
        """Stop here, or count."""
        if not self.skip:
            raise DataFileError(f"{os.fspath(path)}, {place}: {problem}")
        self.count += 1


class Source(ABC):
    """A file of raw ratings that can be read from the beginning as often as needed.

    Derive from it to read a format of your own; see `prepare`.

    Examples
    --------
    >>> class Few(Source):
    ...     kind = "few"
    ...
    ...     def ratings(self, bad):
    ...         yield RatingBatch(["ann", "bob"], ["tea", "tea"], np.array([5.0, 2.0]), np.array([10, 20]), done=1.0)
    >>> from bitfm_research.prepare import prepare
    >>> prepare(Few("nowhere"), min_ratings=1)
    Prepared(2 users, 1 items, 2 ratings)
    """

    kind: ClassVar[str]
    has_texts: bool = False

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @abstractmethod
    def ratings(self, bad: BadLines) -> Iterator[RatingBatch]:
        """Read all ratings, in batches of any size."""

    def texts(self, bad: BadLines) -> Iterator[TextBatch]:
        """Read all texts, in batches of any size; an item may have several."""
        return iter(())

    def item_fields(self, item_ids: Sequence[str]) -> dict[str, tuple[sp.csr_matrix, list[str]]]:
        """Return what else is known of these items: by field, a table with one row per item and its columns' names."""
        return {}


def identifier(what: str, value: Any) -> str:
    """Return an id as a string."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise ValueError(f"{what} is {_short(value)}; expected a non-empty string or a whole number")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{what} {_short(value)} holds half of a character; expected proper Unicode") from None
    return value


def number(what: str, value: Any) -> float:
    """Return a number, or the number that a string stands for."""
    result = None if isinstance(value, bool) else parse_number(value, ".")  # one value cannot tell
    if result is None:
        raise ValueError(f"{what} is {_short(value)}; expected a finite number")
    return result


def seconds(what: str, value: Any) -> int:
    """Return a time in seconds since 1970; None is no time."""
    result = NO_TIME if value is None or value == "" else parse_time(value, "ymd")
    if result is None:
        raise ValueError(
            f"{what} is {_short(value)}; expected seconds since 1970 or a date such as 2018-07-13 20:15:00"
        )
    return result


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
