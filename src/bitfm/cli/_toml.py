"""Writing TOML, which Python only reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

__all__ = ["to_toml"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")


def to_toml(tables: Mapping[str, Mapping[str, Any]]) -> str:
    """Return tables of plain values, lists and small tables as TOML.

    Examples
    --------
    >>> print(to_toml({"fit": {"bits": 32, "context": ["daytime"], "kind": {"zip code": "category"}}}))
    [fit]
    bits = 32
    context = ["daytime"]
    kind = {"zip code" = "category"}
    <BLANKLINE>
    """
    lines = []
    for name, table in tables.items():
        lines += [f"[{_key(name)}]", *(f"{_key(key)} = {_value(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _string(key)


def _string(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")  # the one that JSON need not escape


def _value(value: Any) -> str:
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)
