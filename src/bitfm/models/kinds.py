"""The kinds of models that files hold, by name: bitfm's own, and those of other packages by entry point."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

from bitfm.models.base import FeatureModel

__all__ = ["find_kind", "known_kinds", "register_kind"]

GROUP = "bitfm.kinds"
_entries = {
    name: EntryPoint(name, f"bitfm.models.{module}:{name}", GROUP)
    for name, module in {"BiasModel": "bias", "FM": "fm", "DiscreteFM": "discrete"}.items()
}
_registered: dict[str, type[FeatureModel]] = {}

Kind = TypeVar("Kind", bound=type[FeatureModel])


def register_kind(model: Kind) -> Kind:
    """Let files hold models of a class, under the name of the class, as long as this process runs.

    A package declares its classes in the entry-point group ``bitfm.kinds`` instead, as ``Name = "module:Name"``; they
    are imported when a file of their kind is opened.
    """
    if model.__name__ in known_kinds() and find_kind(model.__name__) is not model:
        raise ValueError(
            f"register_kind: there is another kind called {model.__name__!r}; give the class another name."
        )
    _registered[model.__name__] = model
    return model


def find_kind(name: str | None) -> type[FeatureModel] | None:
    """Return the class of a kind; None if there is none of this name."""
    if name is None or name in _registered:
        return None if name is None else _registered[name]
    found = [_entries[name]] if name in _entries else list(entry_points(group=GROUP, name=name))
    if not found:
        return None
    _registered[name] = found[0].load()
    return _registered[name]


def known_kinds() -> list[str]:
    """Return the names of all kinds that are installed or registered."""
    return list(dict.fromkeys([*_entries, *_registered, *sorted(entry_points(group=GROUP).names)]))
