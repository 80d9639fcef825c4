"""Which items a condition allows: values of their columns, or an expression of Polars or Narwhals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.forks import need_threads
from bitfm.errors import MissingColumnError
from bitfm.recommender._kept.column import KeptColumn
from bitfm.recommender._side import Side
from bitfm.recommender._warnings import warn

__all__ = ["condition_key", "kept_column", "rows_where"]

Rows = npt.NDArray[np.bool_]
_EXPECTED = 'a mapping such as {"category": "books"}, an expression of Polars or Narwhals, or a list of these'


def rows_where(items: Side, where: Any) -> Rows:
    """Return which items meet a condition, or all of several."""
    if isinstance(where, Mapping):
        return _all([_rows_with(kept_column(items, "where", name), value) for name, value in where.items()], items)
    if isinstance(where, list | tuple):
        return _all([rows_where(items, one) for one in where], items)
    library = _library(where)
    if library is None:
        raise TypeError(f"where: expected {_EXPECTED}; got {type(where).__name__}.")
    return _rows_of_expression(items, where, library)


def condition_key(where: Any) -> Hashable | None:
    """Return what tells a condition from others; None if that is not worth while."""
    if where is None or isinstance(where, str | bytes | bool | int | float):
        return (type(where), where)
    if isinstance(where, Mapping):
        values = condition_key(list(where.values()))
        return None if values is None else ("mapping", *map(str, where), values)
    if isinstance(where, list | tuple):
        keys = tuple(condition_key(one) for one in where)
        return None if None in keys else ("list", *keys)
    if _library(where) == "polars":
        try:
            return ("expression", where.meta.serialize())
        except Exception:  # a function of Python's that cannot be written down
            return None
    return (type(where), where) if type(where).__module__ in ("datetime", "decimal") else None


def kept_column(items: Side, what: str, name: Any) -> KeptColumn:
    """Return a column of the items, or refuse one that is not kept."""
    for column in items.kept:
        if column.name == name:
            return column
    known = ", ".join(repr(column.name) for column in items.kept) or "none"
    advice = "keep others with fit(items=..., filters=[...])"
    raise MissingColumnError(f"{what}: there is no column {name!r} of items to go by, only {known}; {advice}.")


def _all(masks: Sequence[Rows], items: Side) -> Rows:
    return np.logical_and.reduce(masks) if masks else np.ones(len(items), bool)


def _rows_with(column: KeptColumn, value: Any) -> Rows:
    """Return the rows that have a value, or one of several."""
    several = isinstance(value, list | tuple | set | frozenset | np.ndarray) or hasattr(value, "to_list")
    values = list(value.tolist() if isinstance(value, np.ndarray) else value) if several else [value]
    found, unknown = np.zeros(len(column), bool), []
    for one in values:
        try:
            rows = column.missing() if one is None else column.equal(one)
        except ValueError as error:
            raise ValueError(f"where: column {column.name!r} is of the kind {column.called}, but {error}.") from None
        if rows is None:
            unknown.append(one)
        else:
            found |= rows
    if unknown:
        named = ", ".join(repr(one) for one in unknown[:3])
        warn(f"where: no item has {column.name} {named}; there are {column.examples() or 'no values'}.")
    return found


def _rows_of_expression(items: Side, expression: Any, library: str) -> Rows:
    import polars as pl

    need_threads("where, an expression,", "give values of columns: where={...}")
    names = expression.meta.root_names() if library == "polars" else []
    columns = [kept_column(items, "where", name) for name in names] or items.kept
    frame = pl.DataFrame([column.series() for column in columns])
    try:
        if library == "narwhals":
            import narwhals

            found = narwhals.from_native(frame).select(expression).to_native()
        else:
            found = frame.select(expression)
    except Exception as error:  # of either library, in words of its own
        known = ", ".join(f"{name!r} ({dtype})" for name, dtype in frame.schema.items()) or "none"
        told = str(error).splitlines()[0]
        raise ValueError(f"where: the expression does not go with the items' columns, {known}: {told}.") from None
    if found.width != 1 or found.dtypes[0] != pl.Boolean or len(found) not in (1, len(items)):
        got = f"{found.width} column(s) of {', '.join(map(str, found.dtypes)) or 'nothing'}"
        raise ValueError(f"where: expected an expression that is true or false of each item; it gives {got}.")
    rows = found.to_series().fill_null(False).to_numpy()
    return np.array(np.broadcast_to(rows, len(items)))


def _library(given: Any) -> str | None:
    """Return which library an expression is of."""
    name = type(given).__module__.partition(".")[0]
    return name if name in ("polars", "narwhals") and type(given).__name__ == "Expr" else None
