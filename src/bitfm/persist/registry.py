"""The kinds of parts that a file may hold, filled by name; other packages add theirs by an entry point."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar

__all__ = ["Registry"]

T = TypeVar("T")


class Registry(Generic[T]):
    """Names, each with an object, or with the place of one that is imported when it is asked for.

    Parameters
    ----------
    group : str
        The entry-point group by which other packages add theirs.
    places : mapping of str to str, optional
        What is there from the start, as ``"module:attribute"``.

    Examples
    --------
    >>> shapes = Registry[type]("demo.shapes", {"list": "builtins:list"})
    >>> shapes.register("set", set)
    >>> shapes.get("list"), shapes.get("set"), shapes.get("ring")
    (<class 'list'>, <class 'set'>, None)
    """

    def __init__(self, group: str, places: dict[str, str] | None = None) -> None:
        self.group = group
        self._places = dict(places or {})
        self._objects: dict[str, T] = {}

    def register(self, name: str, value: T) -> None:
        """Add an object, or put it in the place of another."""
        self._objects[name] = value

    def get(self, name: str, *, installed: bool = True) -> T | None:
        """Return the object of a name, or None if there is none; entry points count only if `installed`."""
        if name not in self._objects:
            if name in self._places:
                module, _, attribute = self._places[name].partition(":")
                self._objects[name] = getattr(import_module(module), attribute)
            elif installed and (points := entry_points(group=self.group, name=name)):
                self._objects[name] = next(iter(points)).load()
        return self._objects.get(name)

    def names(self) -> list[str]:
        """Return all names, those of entry points included."""
        return sorted({*self._places, *self._objects, *(point.name for point in entry_points(group=self.group))})
