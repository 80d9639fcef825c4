"""What a table must have before it is used: columns, rows, an id only once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TYPE_CHECKING

from bitfm.errors import DuplicateRowsError, EmptyTableError, MissingColumnError

if TYPE_CHECKING:
    import polars as pl

_MANY = 30  # names in one message


def need_columns(what: str, frame: pl.DataFrame, names: Iterable[str], hint: str = "") -> None:
    """Raise an error that lists the columns there are, and says what to do, if one is missing.

    Examples
    --------
    >>> import polars as pl
    >>> need_columns("ratings", pl.DataFrame({"userId": [], "item": []}), ["user_id"])
    Traceback (most recent call last):
    bitfm.errors.MissingColumnError: ratings has no column 'user_id'; did you mean 'userId'? There are 'userId', 'item'
    """
    for name in names:
        if name not in frame.columns:
            message = f"{what} has no column {name!r}; {_suggestion(name, frame.columns)}"
            raise MissingColumnError(f"{message}; {hint}" if hint else message)


def need_rows(what: str, frame: pl.DataFrame) -> None:
    """Raise an error if there are no rows.

    Examples
    --------
    >>> import polars as pl
    >>> need_rows("items", pl.DataFrame({"item_id": []}))
    Traceback (most recent call last):
    bitfm.errors.EmptyTableError: items has no rows; expected at least one
    """
    if not len(frame):
        raise EmptyTableError(f"{what} has no rows; expected at least one")


def need_distinct(what: str, ids: pl.Series) -> None:
    """Raise an error that names the first id that occurs twice, and its rows.

    Examples
    --------
    >>> import polars as pl
    >>> need_distinct("items", pl.Series(["i1", "i2", "i1"]))
    Traceback (most recent call last):
    bitfm.errors.DuplicateRowsError: items has 'i1' in row 1 and again in row 3; keep one row for each id
    """
    if ids.n_unique() == len(ids):
        return
    again = ~ids.is_first_distinct()
    second = again.arg_true()[0]
    value = ids[second]
    first = (ids == value).arg_true()[0] if value is not None else ids.is_null().arg_true()[0]
    raise DuplicateRowsError(
        f"{what} has {value!r} in row {first + 1} and again in row {second + 1}; keep one row for each id"
    )


def _suggestion(name: str, columns: list[str]) -> str:
    if not columns:
        return "there are no columns at all"
    plain = {_plain(column): column for column in reversed(columns)}
    near = difflib.get_close_matches(_plain(name), list(plain), n=1)
    listed = ", ".join(map(repr, columns[:_MANY]))
    listed += f" and {len(columns) - _MANY} more" if len(columns) > _MANY else ""
    if near:
        return f"did you mean {plain[near[0]]!r}? There are {listed}"
    no_header = all(column[:1].isdigit() for column in columns)
    hint = ", which look like values: has the file no header? Name its columns with columns= (--columns)"
    return f"there are {listed}{hint if no_header else ''}"


def _plain(name: str) -> str:
    return "".join(character for character in name.lower() if character.isalnum())
