"""Yelp's and Amazon's reviews: one record per line, with a rating and a text."""

from __future__ import annotations

import ast
import json
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bitfm_research.prepare._separated import batches_of_lines, separated_ratings
from bitfm_research.prepare.source import BadLines, RatingBatch, Source, TextBatch, identifier, number, seconds

__all__ = ["AmazonReviews", "YelpReviews"]


class _Names(NamedTuple):
    """What a format calls the parts of a review."""

    user: str
    item: str
    rating: str
    text: str
    time: str


class _Review(NamedTuple):
    user: str
    item: str
    rating: float
    text: str
    time: int


class _Reviews(Source):
    """A file with one record per line, plain or compressed with gzip."""

    names: ClassVar[_Names]
    has_texts = True

    def ratings(self, bad: BadLines) -> Iterator[RatingBatch]:
        """Read all ratings."""
        for reviews, done in self._batches(bad):
            yield RatingBatch(
                [review.user for review in reviews],
                [review.item for review in reviews],
                np.array([review.rating for review in reviews], np.float64),
                np.array([review.time for review in reviews], np.int64),
                done,
            )

    def texts(self, bad: BadLines) -> Iterator[TextBatch]:
        """Read all texts."""
        for reviews, done in self._batches(bad):
            yield TextBatch([review.item for review in reviews], [review.text for review in reviews], done)

    def _batches(self, bad: BadLines) -> Iterator[tuple[list[_Review], float]]:
        for first, lines, done in batches_of_lines(self.path):
            reviews = []
            for line_number, line in enumerate(lines, first):
                if line.isspace():
                    continue
                try:
                    reviews.append(_review(line, self.names, self._record))
                except ValueError as problem:
                    bad.add(self.path, f"line {line_number}", str(problem))
            yield reviews, done

    def _record(self, line: bytes) -> Any:
        return json.loads(line)


class YelpReviews(_Reviews):
    r"""``review.json`` of Yelp's academic data set: one JSON object per line, plain or compressed with gzip.

    Ratings are ``stars``, items are businesses, and every review has a text.

    Parameters
    ----------
    path : str or path
        The file.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> from bitfm_research.prepare import prepare
    >>> review = {"user_id": "u1", "business_id": "b1", "stars": 4, "date": "2017-01-01", "text": "Good tea."}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "review.json")
    ...     _ = path.write_text(json.dumps(review) + "\n")
    ...     data = prepare(YelpReviews(path), min_ratings=1)
    >>> data.ratings, data.words
    (array([4.]), array(['good', 'tea'], dtype=object))
    """

    kind = "yelp"
    names = _Names("user_id", "business_id", "stars", "text", "date")


class AmazonReviews(_Reviews):
    r"""Reviews of Amazon as McAuley publishes them, such as ``reviews_Books_5.json.gz``.

    A line is a JSON object, or a Python dictionary as in older files. The text is ``reviewText``. A file whose name
    ends in ``.csv`` or ``.csv.gz`` holds ratings only: user, item, rating, time, without a header.

    Parameters
    ----------
    path : str or path
        The file, plain or compressed with gzip.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bitfm_research.prepare import prepare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "reviews_Books.json")
    ...     _ = path.write_text("{'reviewerID': 'A1', 'asin': 'B1', 'overall': 5.0, 'reviewText': 'Dragons!'}\n")
    ...     data = prepare(AmazonReviews(path), min_ratings=1)
    >>> data.item_ids, data.words
    (array(['B1'], dtype=object), array(['dragons'], dtype=object))
    """

    kind = "amazon"
    names = _Names("reviewerID", "asin", "overall", "reviewText", "unixReviewTime")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.has_texts = not self.path.name.lower().endswith((".csv", ".csv.gz"))

    def ratings(self, bad: BadLines) -> Iterator[RatingBatch]:
        """Read all ratings."""
        return super().ratings(bad) if self.has_texts else separated_ratings(self.path, bad, separator=",")

    def _record(self, line: bytes) -> Any:
        try:
            return json.loads(line)
        except ValueError:
            return ast.literal_eval(line.decode())


def _review(line: bytes, names: _Names, parse: Callable[[bytes], Any]) -> _Review:
    try:
        record = parse(line)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # what a literal can do to its parser
        record = None
    if not isinstance(record, dict):
        raise ValueError(f"not a record with {', '.join(names)}; is this the right file?")
    for name in names[:3]:
        if name not in record:
            raise ValueError(f"no {name!r} in the record; expected {', '.join(names)}")
    text = record.get(names.text)
    if text is not None and not isinstance(text, str):
        raise ValueError(f"{names.text!r} is of type {type(text).__name__}; expected a string")
    if isinstance(record[names.rating], str):
        raise ValueError(f"{names.rating!r} is the string {record[names.rating][:40]!r}; expected a number")
    return _Review(
        identifier(repr(names.user), record[names.user]),
        identifier(repr(names.item), record[names.item]),
        number(repr(names.rating), record[names.rating]),
        text or "",
        seconds(repr(names.time), record.get(names.time)),
    )
