"""An estimator's settings as JSON can hold them, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any, get_type_hints

import msgspec
import numpy as np

from bitfm.errors import ModelFileError

__all__ = ["plain_settings", "settings_of"]


def plain_settings(model: Any) -> dict[str, Any]:
    """Return the settings of an estimator; those it does not keep, such as a teacher, are None."""
    settings = {}
    for name, value in model.get_params(deep=False).items():
        plain = None if name in model.unsaved else _plain(value)
        if name == "random_state" and not isinstance(plain, int | None):
            plain = None  # the state of a generator is not part of the model
        try:
            settings[name] = msgspec.to_builtins(msgspec.convert(plain, _hints(model.__class__)[name]))
        except (msgspec.ValidationError, TypeError):
            raise TypeError(f"save: {name} = {value!r} cannot be kept in a file; set it to a plain value.") from None
    return {name: _finite(value) for name, value in settings.items()}


def settings_of(kind: type, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a file as an estimator takes them, each of its declared type."""
    hints = _hints(kind)
    unknown = sorted(set(settings) - set(hints))
    if unknown:
        raise ModelFileError(f"has settings that {kind.__name__} does not know: {unknown}")
    found = {}
    for name, value in settings.items():
        try:
            found[name] = msgspec.convert(float(value) if value in ("inf", "-inf") else value, hints[name])
        except (msgspec.ValidationError, TypeError):
            raise ModelFileError(f"has {name} = {value!r}, which is of the wrong type") from None
    return found


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind.__init__)  # type: ignore[misc]
    hints.pop("return", None)
    return hints | {"random_state": int | None} | dict.fromkeys(kind.unsaved, type(None))  # type: ignore[attr-defined]


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    return {str(key): _plain(item) for key, item in value.items()} if hasattr(value, "items") else value


def _finite(value: Any) -> Any:
    """Return numbers that JSON does not have as texts."""
    if isinstance(value, float) and math.isinf(value):
        return str(value)
    if isinstance(value, float) and math.isnan(value):
        raise TypeError(f"save: a setting is {value!r}, which cannot be kept in a file; set it to a number.")
    return {key: _finite(item) for key, item in value.items()} if isinstance(value, dict) else value
