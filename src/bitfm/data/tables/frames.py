"""Frames of several libraries come in as Polars frames, and results go out as the library's own."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any

from bitfm.errors import TableError

if TYPE_CHECKING:
    import polars as pl


class FrameKind(Enum):
    """The library that a frame came from, and that results go back to.

    Examples
    --------
    >>> import polars as pl
    >>> as_frame("users", pl.DataFrame({"user": ["ann"]}))[1]
    <FrameKind.POLARS: 'polars'>
    """

    POLARS = "polars"
    PANDAS = "pandas"
    ARROW = "arrow"


def as_frame(what: str, given: Any) -> tuple[pl.DataFrame, FrameKind]:
    """Take what a user gave as a table, without a copy where its library allows.

    Parameters
    ----------
    what
        The table's name in messages, such as "interactions".
    given
        A frame of Polars (lazy or not), pandas or Arrow, a mapping of names to columns, a sequence of mappings, each
        a row, or the path of a file (see `read_table`). The index of a pandas frame becomes a column if it has a name.

    Returns
    -------
    frame : polars.DataFrame
        The table. A column that holds Python objects of several types keeps them (Polars' ``Object``).
    kind : FrameKind
        What `in_kind` needs to give results in the same library.

    Raises
    ------
    TypeError
        If it is nothing of the above.
    TableError
        If two columns have one name, or columns differ in length.

    Examples
    --------
    >>> frame, kind = as_frame("users", {"user": ["ann", "bob"], "age": [25, None]})
    >>> frame.rows()
    [('ann', 25), ('bob', None)]
    >>> as_frame("users", 7)
    Traceback (most recent call last):
    TypeError: users is of type int; expected a frame of Polars, pandas or Arrow, ..., or a path
    """
    import polars as pl

    if isinstance(given, pl.DataFrame):
        return given, FrameKind.POLARS
    if isinstance(given, pl.LazyFrame):
        return given.collect(), FrameKind.POLARS
    pandas = sys.modules.get("pandas")  # who has a frame of it has imported it
    if pandas is not None and isinstance(given, pandas.DataFrame):
        from bitfm.data.tables._pandas import from_pandas

        return from_pandas(what, given), FrameKind.PANDAS
    if isinstance(given, (str, os.PathLike)):
        from bitfm.data.tables.read import read_table

        return read_table(os.fspath(given)), FrameKind.POLARS
    if hasattr(given, "__arrow_c_stream__") and not isinstance(given, pl.Series):
        return _from_arrow(what, given), FrameKind.ARROW
    if isinstance(given, Mapping) or _is_list_of_rows(given):
        from bitfm.data.tables._python import from_columns, from_rows

        frame = from_columns(what, given) if isinstance(given, Mapping) else from_rows(what, given)
        return frame, FrameKind.POLARS
    raise TypeError(
        f"{what} is of type {type(given).__name__}; expected a frame of Polars, pandas or Arrow, a mapping of names "
        "to columns, a list of rows, each a mapping, or a path"
    )


def in_kind(frame: pl.DataFrame, kind: FrameKind) -> Any:
    """Return a frame of the given library, or the Polars frame as it is if that library is not installed.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"item": ["i1"]})
    >>> in_kind(table, FrameKind.POLARS) is table
    True
    """
    try:
        if kind is FrameKind.PANDAS:
            from bitfm.data.tables._pandas import to_pandas

            return to_pandas(frame)
        if kind is FrameKind.ARROW:
            return frame.to_arrow()
    except ImportError:
        pass
    return frame


def check_names(what: str, names: list[str]) -> None:
    """Raise an error if a name occurs twice."""
    if len(set(names)) < len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise TableError(f"{what} has two columns called {twice!r}; rename or drop one of them")


def _is_list_of_rows(given: Any) -> bool:
    return isinstance(given, (list, tuple)) and all(isinstance(row, Mapping) for row in given)


def _from_arrow(what: str, given: Any) -> pl.DataFrame:
    import polars as pl

    names = getattr(given, "column_names", None) or getattr(getattr(given, "schema", None), "names", None)
    if isinstance(names, list):
        check_names(what, names)  # Polars drops all but one of them
    try:
        return pl.DataFrame(given)
    except (pl.exceptions.PolarsError, TypeError, ValueError) as error:
        raise TypeError(f"{what} is not a table of Arrow ({error}); give one with columns") from None
