"""An estimator's settings as JSON can hold them, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from reprlib import repr as short  # what a file says is of any length
from typing import Any, get_type_hints

import msgspec
import numpy as np

from bitfm.errors import ModelFileError
from bitfm.persist import plain

__all__ = ["plain_settings", "settings_of"]

_INFINITE = {"inf": math.inf, "-inf": -math.inf}  # numbers that JSON does not have


def plain_settings(model: Any) -> dict[str, Any]:
    """Return the settings of an estimator; those it does not keep, such as a teacher, are None."""
    kind: type = type(model)
    hints, settings = _hints(kind), {}
    for name, value in model.get_params(deep=False).items():
        if name in model.unsaved or (name == "random_state" and not isinstance(value, int | np.integer)):
            value = None  # the state of a generator is not part of the model
        settings[name] = _to_json(name, plain(name, value, hints[name]))
    return settings


def settings_of(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a file as an estimator takes them, each of its declared type."""
    hints, converted = _hints(kind), {}
    if unknown := sorted(set(settings) - set(hints)):
        raise ModelFileError(f"has settings that {kind.__name__} does not know: {short(unknown)}")
    for name, value in settings.items():
        try:
            converted[name] = msgspec.convert(_from_json(value), hints[name])
        except (msgspec.ValidationError, TypeError):
            raise ModelFileError(f"has {name} = {short(value)}, which is of the wrong type") from None
    return converted


@cache
def _hints(kind: type) -> dict[str, Any]:
    if "__dataclass_fields__" in vars(kind):  # a base's fields are written in the words of the base's module
        known = get_type_hints(kind)
        hints = {item.name: known[item.name] for item in fields(kind) if item.init}
    else:
        hints = get_type_hints(kind.__init__)  # type: ignore[misc]
        hints.pop("return", None)
    special = {"random_state": int | None, **dict.fromkeys(kind.unsaved, type(None))}  # type: ignore[attr-defined]
    return {name: special.get(name, hint) for name, hint in hints.items()}


def _to_json(name: str, value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _to_json(name, item) for key, item in value.items()}
    if isinstance(value, float) and math.isnan(value):
        raise TypeError(f"save: {name} is {value!r}, which cannot be kept in a file; set it to a number.")
    return str(value) if isinstance(value, float) and math.isinf(value) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _INFINITE.get(item, item) if isinstance(item, str) else item for key, item in value.items()}
    return _INFINITE.get(value, value) if isinstance(value, str) else value
