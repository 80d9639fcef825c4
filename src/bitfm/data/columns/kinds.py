"""Kinds by their names, and fitted columns from what they saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from numpy.typing import NDArray

from bitfm.data.columns._column import FittedColumn, Kind, damage
from bitfm.data.columns.category import Category
from bitfm.data.columns.dates import DateParts
from bitfm.data.columns.ignored import Ignored
from bitfm.data.columns.multi_category import MultiCategory
from bitfm.data.columns.number import Number
from bitfm.data.columns.text import Text
from bitfm.errors import ModelFileError

__all__ = ["kind_of", "restore_column"]

_KINDS: dict[str, type[Kind]] = {
    kind.called: kind for kind in (Category, MultiCategory, Number, Text, DateParts, Ignored)
}
_DECLARED = {called: kind() for called, kind in _KINDS.items()} | {"standard": Number(scale="standard")}


def kind_of(declared: str | Kind) -> Kind:
    """Return the kind of column that a user declared.

    Parameters
    ----------
    declared : Kind, or "category", "multi-category", "number", "standard", "text", "date" or "ignore"

    Raises
    ------
    ValueError
        If there is no kind of that name.
    TypeError
        If it is neither a kind nor a string.

    Examples
    --------
    >>> kind_of("standard")
    Number(scale='standard', bins=10)
    """
    if isinstance(declared, Kind):
        return declared
    if isinstance(declared, type) and issubclass(declared, Kind):
        raise TypeError(f"kind_of: {declared.__name__} is a class; give an instance, {declared.__name__}().")
    if not isinstance(declared, str):
        raise TypeError(
            f"kind_of: expected a kind such as Category() or its name, got {type(declared).__name__} {declared!r}."
        )
    if declared not in _DECLARED:
        raise ValueError(f"kind_of: there is no kind {declared!r}; the kinds are {', '.join(_DECLARED)}.")
    return _DECLARED[declared]


def restore_column(state: Any, tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
    """Return the fitted column whose `state` and `tensors` these are.

    Parameters
    ----------
    state : dict
        Believed in nothing: it may come from a damaged file.
    tensors : mapping of str to array
        Kept, not copied.

    Raises
    ------
    ModelFileError
        If they are anything else.

    Examples
    --------
    >>> import polars as pl
    >>> column = Category().fit("country", pl.Series(["es", "us"]))
    >>> restore_column(column.state(), column.tensors()).label(1)
    'us'
    """
    if not isinstance(state, Mapping) or not isinstance(state.get("name"), str):
        raise ModelFileError("A column of the model is damaged: it has no name; save the model again.")
    rest = dict(state)
    name, called, settings = rest.pop("name"), rest.pop("kind", None), rest.pop("settings", None)
    if not isinstance(called, str) or called not in _KINDS:
        raise damage(name, f"its kind is {called!r}, expected one of {', '.join(_KINDS)}")
    if not isinstance(settings, Mapping) or set(settings) != {field.name for field in fields(_KINDS[called])}:
        raise damage(name, f"its settings are {settings!r}")
    try:
        kind = _KINDS[called](**settings)
    except (TypeError, ValueError):
        raise damage(name, f"its settings are {settings!r}") from None
    return kind.restored(name, rest, tensors)
