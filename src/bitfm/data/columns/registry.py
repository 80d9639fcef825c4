"""The kinds of column there are, of this package and of others; fitted columns from what they saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, TypeVar

from bitfm.errors import ModelFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bitfm.data.columns._column import FittedColumn, Kind

__all__ = ["all_kinds", "kind_names", "kind_of", "register_kind", "restore_column"]

GROUP = "bitfm.columns"  # of entry points: name = "module:Class"

# Names, and where they are registered, so that telling the names imports nothing.
_BUILT_IN = {
    "category": "category",
    "multi-category": "multi_category",
    "number": "number",
    "standard": "number",
    "text": "text",
    "date": "dates",
    "ignore": "ignored",
}
_KINDS: dict[str, type[Kind]] = {}
_DECLARED: dict[str, Kind] = {}
_PLACES: dict[str, tuple[str, str]] = {}  # the module and class of each name, the same when imported again

K = TypeVar("K", bound="type[Kind]")


def register_kind(kind: K) -> K:
    """Register a kind of column by its name, so that users can declare it and files that have it open.

    A decorator of the class. A package that is installed need not be imported first if it has an entry point in the
    group ``bitfm.columns`` with the kind's name.

    Parameters
    ----------
    kind : class derived from Kind
        A frozen dataclass.

    Raises
    ------
    TypeError
        If it is none, or has no name.
    ValueError
        If another kind has its name.

    Examples
    --------
    >>> from bitfm.data import Category
    >>> register_kind(Category) is Category
    True
    """
    from bitfm.data.columns._column import Kind

    if not (isinstance(kind, type) and issubclass(kind, Kind)) or not isinstance(getattr(kind, "called", None), str):
        raise TypeError(f"register_kind: expected a class derived from Kind with a name in `called`, got {kind!r}.")
    shorthands = kind.shorthands()
    place = kind.__module__, kind.__qualname__
    for name in {kind.called, *shorthands}:
        foreign = name in _BUILT_IN and kind.__module__ != f"{__package__}.{_BUILT_IN[name]}"
        if foreign or _PLACES.get(name, place) != place:
            raise ValueError(
                f"register_kind: there is a kind called {name!r} already; give {kind.__name__} another name."
            )
    _PLACES.update(dict.fromkeys((kind.called, *shorthands), place))
    _KINDS[kind.called] = kind
    _DECLARED.update(shorthands)
    return kind


def kind_names() -> list[str]:
    """Return the names that a user can declare, without loading what they stand for.

    Examples
    --------
    >>> kind_names()[:4]
    ['category', 'multi-category', 'number', 'standard']
    """
    return list(dict.fromkeys([*_BUILT_IN, *_DECLARED, *_installed()]))


def all_kinds() -> list[type[Kind]]:
    """Return all kinds, those first that are asked first what a column is.

    Examples
    --------
    >>> [kind.called for kind in all_kinds() if kind.__module__.startswith("bitfm.")]
    ['ignore', 'multi-category', 'date', 'number', 'text', 'category']
    """
    for name in (*_BUILT_IN, *_installed()):
        _load(name)
    return sorted(_KINDS.values(), key=lambda kind: -kind.priority)


def kind_of(declared: str | Kind) -> Kind:
    """Return the kind of column that a user declared.

    Parameters
    ----------
    declared : Kind or str
        An instance, or a name: "category", "multi-category", "number", "standard", "text", "date", "ignore" or one that
        `register_kind` has.

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
    from bitfm.data.columns._column import Kind

    if isinstance(declared, Kind):
        return declared
    if isinstance(declared, type) and issubclass(declared, Kind):
        raise TypeError(f"kind_of: {declared.__name__} is a class; give an instance, {declared.__name__}().")
    if not isinstance(declared, str):
        raise TypeError(
            f"kind_of: expected a kind such as Category() or its name, got {type(declared).__name__} {declared!r}."
        )
    _load(declared)
    if declared not in _DECLARED:
        raise ValueError(f"kind_of: there is no kind {declared!r}; the kinds are {', '.join(kind_names())}.")
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
    >>> from bitfm.data import Category
    >>> column = Category().fit("country", pl.Series(["es", "us"]))
    >>> restore_column(column.state(), column.tensors()).label(1)
    'us'
    """
    from bitfm.data.columns._column import damage

    if not isinstance(state, Mapping) or not isinstance(state.get("name"), str):
        raise ModelFileError("A column of the model is damaged: it has no name; save the model again.")
    rest = dict(state)
    name, called, settings = rest.pop("name"), rest.pop("kind", None), rest.pop("settings", None)
    if not isinstance(called, str):
        raise damage(name, f"its kind is {called!r}, expected a name")
    _load(called)
    if called not in _KINDS:
        raise ModelFileError(
            f"The column {name!r} of the model is of the kind {called!r}, expected one of {', '.join(kind_names())}; "
            "install or import the package that registers this kind."
        )
    if not isinstance(settings, Mapping) or set(settings) != {field.name for field in fields(_KINDS[called])}:
        raise damage(name, f"its settings are {settings!r}")
    try:
        kind = _KINDS[called](**settings)
    except (TypeError, ValueError):
        raise damage(name, f"its settings are {settings!r}") from None
    return kind.restored(name, rest, tensors)


def _load(name: str) -> None:
    """Import the module that registers a name, if there is one and it has not been."""
    if name in _KINDS or name in _DECLARED:
        return
    if name in _BUILT_IN:
        import_module(f"bitfm.data.columns.{_BUILT_IN[name]}")
    elif name in _installed():
        register_kind(_installed()[name].load())


@cache
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
