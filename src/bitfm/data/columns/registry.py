"""The kinds of column there are, of this package and of others; fitted columns from what they saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from reprlib import repr as short  # what a file says is of any length
from typing import TYPE_CHECKING, Any, TypeVar

from bitfm.errors import ModelFileError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from bitfm.data.columns._column import FittedColumn, Kind

# Names, and the modules that register them, so that listing the names imports nothing.
_BUILT_IN = {
    "category": "category",
    "multi-category": "category",
    "number": "number",
    "standard": "number",
    "text": "text",
    "date": "dates",
    "ignore": "infer",
}
_KINDS: dict[str, type[Kind]] = {}  # by the kind's name and by its shorthands

K = TypeVar("K", bound="type[Kind]")


def register_kind(kind: K) -> K:
    """Register a class derived from `Kind` by its name, so that users can declare it and files that have it open.

    A decorator of the class. A package that is installed need not be imported first if it has an entry point in the
    group ``bitfm.columns`` with the kind's name.

    Examples
    --------
    >>> from bitfm.data import Category
    >>> register_kind(Category) is Category
    True
    """
    from bitfm.data.columns._column import Kind

    if not (isinstance(kind, type) and issubclass(kind, Kind)) or not isinstance(getattr(kind, "called", None), str):
        raise TypeError(f"register_kind: expected a class derived from Kind with a name in `called`, got {kind!r}.")
    names = kind.called, *kind.shorthands()
    for name in names:
        foreign = name in _BUILT_IN and kind.__module__ != f"{__package__}.{_BUILT_IN[name]}"
        other = _KINDS.get(name, kind)  # the same when its module is imported again
        if foreign or (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
            what = f"there is a kind called {name!r} already; give {kind.__name__} another name."
            raise ValueError(f"register_kind: {what}")
    _KINDS.update(dict.fromkeys(names, kind))
    return kind


def kind_names() -> list[str]:
    """Return the names that a user can declare, without loading what they stand for.

    Examples
    --------
    >>> kind_names()[:4]
    ['category', 'multi-category', 'number', 'standard']
    """
    declarable = [name for name, kind in _KINDS.items() if name in kind.shorthands()]
    return list(dict.fromkeys([*_BUILT_IN, *declarable, *_installed()]))


def all_kinds() -> list[type[Kind]]:
    """Return all kinds, those of the highest priority first."""
    for name in (*_BUILT_IN, *_installed()):
        _load(name)
    return sorted(dict.fromkeys(_KINDS.values()), key=lambda kind: -kind.priority)


def kind_of(declared: str | Kind) -> Kind:
    """Return the kind of column that a user declared, as an instance or by its name (see `kind_names`).

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
        given = f"{type(declared).__name__} {declared!r}"
        raise TypeError(f"kind_of: expected a kind such as Category() or its name, got {given}.")
    _load(declared)
    shorthands = _KINDS[declared].shorthands() if declared in _KINDS else {}
    if declared not in shorthands:
        raise ValueError(f"kind_of: there is no kind {declared!r}; the kinds are {', '.join(kind_names())}.")
    return shorthands[declared]


def restore_column(state: Any, tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
    """Return the fitted column whose `state` and `tensors` these are; anything else is a `ModelFileError`."""
    if not isinstance(state, Mapping) or not isinstance(state.get("name"), str):
        raise ModelFileError("A column of the model is damaged: it has no name; save the model again.")
    rest = dict(state)
    name, called, settings = rest.pop("name"), rest.pop("kind", None), rest.pop("settings", None)
    if not isinstance(called, str):
        raise _damage(name, f"its kind is {short(called)}, expected a name")
    _load(called)
    if called not in _KINDS or _KINDS[called].called != called:
        raise ModelFileError(
            f"The column {name!r} of the model is of the kind {called!r}, expected one of {', '.join(kind_names())}; "
            "install or import the package that registers this kind."
        )
    try:
        if set(settings) != {field.name for field in fields(_KINDS[called])}:
            raise TypeError
        kind = _KINDS[called](**settings)
    except (TypeError, ValueError):
        raise _damage(name, f"its settings are {short(settings)}") from None
    try:
        return kind.restored(name, rest, tensors)
    except ModelFileError as error:
        raise _damage(name, str(error)) from None


def _damage(name: str, what: str) -> ModelFileError:
    return ModelFileError(f"The column {name!r} of the model is damaged: {what}; save the model again.")


def _load(name: str) -> None:
    """Import the module that registers a name, if there is one and it has not been."""
    if name in _KINDS:
        return
    if name in _BUILT_IN:
        import_module(f"bitfm.data.columns.{_BUILT_IN[name]}")
    elif name in _installed():
        register_kind(_installed()[name].load())


@cache
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group="bitfm.columns")}
