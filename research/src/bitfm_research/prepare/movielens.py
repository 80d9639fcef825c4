"""MovieLens in its three forms: 100K, 1M and 10M, and the newer ones."""

from __future__ import annotations

import csv
import io
import os
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import scipy.sparse as sp
from bitfm.data.one_hot import many_hot
from bitfm.errors import DataFileError

from bitfm_research.prepare._files import open_raw
from bitfm_research.prepare._frames import column_names, frames
from bitfm_research.prepare._separated import separated_ratings
from bitfm_research.prepare.source import BadLines, RatingBatch, Source, TextBatch
from bitfm_research.prepare.table import as_strings

__all__ = ["MovieLens"]

_NONE_LISTED = "(no genres listed)"
_FLAGS_BEGIN = 5  # the column of the first genre in u.item


_Text = Callable[[str, str], str]  # a file's name and its encoding to what it holds


class _Form(NamedTuple):
    """How a release writes its ratings and movies."""

    ratings: str
    separator: str
    header: bool
    movies: str
    genres: Callable[[_Text], dict[str, list[str]]]


class MovieLens(Source):
    r"""A release of MovieLens: its folder, or the zip archive it comes in.

    The files are ``ratings.dat`` and ``movies.dat`` (1M, 10M), ``ratings.csv`` and ``movies.csv`` (the newer
    releases), or ``u.data`` and ``u.item`` (100K). Genres become a field of the movies.

    Parameters
    ----------
    path : str or path
        The folder or the archive.
    texts : str or path, optional
        A CSV, TSV or Parquet file whose first column is a movie's id and whose second is a text about it, such as its
        plot.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from bitfm_research.prepare import prepare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = pathlib.Path(folder, "ratings.dat").write_text("1::10::5::978300760\n2::10::3::978300761\n")
    ...     _ = pathlib.Path(folder, "movies.dat").write_text("10::Heat (1995)::Action|Crime\n")
    ...     data = prepare(MovieLens(folder), min_ratings=1)
    >>> data, data.item_field_names["genres"]
    (Prepared(2 users, 1 items, 2 ratings; genres 2), array(['Action', 'Crime'], dtype=object))
    """

    kind = "movielens"

    def __init__(self, path: str | os.PathLike[str], texts: str | os.PathLike[str] | None = None) -> None:
        super().__init__(path)
        self.text_path = None if texts is None else Path(texts)
        self.has_texts = texts is not None

    def ratings(self, bad: BadLines) -> Iterator[RatingBatch]:
        """Read all ratings."""
        form = self._form()
        path, member = self._places()[form.ratings]
        return separated_ratings(path, bad, separator=form.separator, member=member, header=form.header)

    def texts(self, bad: BadLines) -> Iterator[TextBatch]:
        """Read all texts."""
        if self.text_path is None:
            return
        names = column_names(self.text_path)
        if len(names) < 2:
            raise DataFileError(f"{self.text_path} has a single column; expected a movie's id and a text about it")
        for frame in frames(self.text_path, names[:2]):
            items, texts = (as_strings(frame.rows[name]) for name in names[:2])
            for place in frame.too_long.nonzero()[0]:
                bad.add(self.text_path, f"row {frame.numbers[place]}", "more columns than the header has")
                texts[place] = ""
            yield TextBatch(items, texts, frame.done)

    def item_fields(self, item_ids: Sequence[str]) -> dict[str, tuple[sp.csr_matrix, list[str]]]:
        """Return the genres of these movies; one of unknown genres has an empty row."""
        form = self._form()
        if form.movies not in self._places():
            return {}
        known = form.genres(self._text)
        genres = [known.get(item, []) for item in item_ids]
        names = sorted({name for some in genres for name in some})
        return {"genres": (many_hot(genres).to_csr(), names)} if names else {}

    def _form(self) -> _Form:
        places = self._places()
        for form in _FORMS:
            if form.ratings in places:
                return form
        expected = ", ".join(form.ratings for form in _FORMS)
        raise DataFileError(f"{self.path} is not a release of MovieLens; expected one of {expected} in it")

    def _places(self) -> dict[str, tuple[Path, str | None]]:
        """Return where each file is, by its name: a path, or an archive and a member of it."""
        if self.path.is_dir():
            found = sorted([*self.path.glob("*/*"), *self.path.glob("*")], key=lambda file: -len(file.parts))
            return {file.name: (file, None) for file in found if file.is_file()}  # the one nearest to the top wins
        if not zipfile.is_zipfile(self.path):
            if self.path.exists():
                raise DataFileError(f"{self.path} is neither a folder nor a zip archive; give one of MovieLens")
            raise FileNotFoundError(f"{self.path} does not exist; give the folder or the zip archive of MovieLens")
        with zipfile.ZipFile(self.path) as archive:
            members = sorted(archive.namelist(), key=lambda name: -name.count("/"))
            return {name.rsplit("/", 1)[-1]: (self.path, name) for name in members if not name.endswith("/")}

    def _text(self, name: str, encoding: str) -> str:
        """Return a file's content; that of one that is not there is empty."""
        places = self._places()
        if name not in places:
            return ""
        with open_raw(*places[name]) as file:
            return file.stream.read().decode(encoding, errors="replace")


def _lines(text: _Text, name: str) -> list[str]:
    # Not splitlines, for which a byte of a letter may be the end of a line, too.
    return [line.rstrip("\r") for line in text(name, "latin-1").split("\n")]


def _of_dat(text: _Text) -> dict[str, list[str]]:
    lines = (line.split("::") for line in _lines(text, "movies.dat"))
    return {line[0]: _listed(line[-1]) for line in lines if len(line) == 3}


def _of_csv(text: _Text) -> dict[str, list[str]]:
    rows = csv.DictReader(io.StringIO(text("movies.csv", "utf-8-sig"), newline=""))
    return {row["movieId"]: _listed(row["genres"] or "") for row in rows if "movieId" in row and "genres" in row}


def _of_flags(text: _Text) -> dict[str, list[str]]:
    lines = (line.rpartition("|") for line in _lines(text, "u.genre"))
    names = {int(number): name for name, _, number in lines if number.isdigit()}
    rows = (line.split("|") for line in _lines(text, "u.item"))
    return {
        row[0]: [names.get(i, str(i)) for i, flag in enumerate(row[_FLAGS_BEGIN:]) if flag == "1"]
        for row in rows
        if row
    }


def _listed(genres: str) -> list[str]:
    return [name for name in genres.strip().split("|") if name and name != _NONE_LISTED]


_FORMS = (
    _Form("ratings.dat", "::", False, "movies.dat", _of_dat),
    _Form("ratings.csv", ",", True, "movies.csv", _of_csv),
    _Form("u.data", "\t", False, "u.item", _of_flags),
)
