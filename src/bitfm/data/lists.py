"""Lists that are written as strings: in JSON, as Python prints them, or as NumPy prints arrays."""

from __future__ import annotations

import json
import re
import sys
from contextlib import suppress
from typing import Any

from bitfm.data.texts import one_as_text

__all__ = ["numbers_in", "texts_in"]

_QUOTED = r"""'(?P<one>(?:[^'\\]|\\.)*)'|"(?P<two>(?:[^"\\]|\\.)*)\""""
_BARE = r"(?P<bare>None|True|False|[-+]?[0-9][0-9.eE+-]*)"
_PYTHON_VALUE = re.compile(rf"\s*(?:{_QUOTED}|{_BARE})\s*(?:,|$)", re.DOTALL)
_ESCAPED = re.compile(
    r"\\(?:x(?P<x>[0-9a-f]{2})|u(?P<u>[0-9a-f]{4})|U(?P<U>[0-9a-f]{8})|(?P<one>.))", re.DOTALL | re.IGNORECASE
)
_WORDS = {"None": None, "True": True, "False": False}
_CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}
_PRINTED = re.compile(r"\s*\[([-+0-9.eEnaif\s]+)\]\s*")


def texts_in(text: str) -> list[str] | None:
    """Return the values of a list in JSON or in Python, as strings and without missing ones; None if it is no list.

    Examples
    --------
    >>> texts_in('["old", 2]'), texts_in("['old', None, 2]"), texts_in("[old, red]")
    (['old', '2'], ['old', '2'], None)
    """
    values = _in_json(text)
    values = _in_python(text) if values is None else values
    if values is None:
        return None
    texts = [one_as_text(value) for value in values]
    return [one.encode(errors="replace").decode() for one in texts if one is not None]  # as a series can hold it


def numbers_in(text: str) -> list[Any] | None:
    """Return a list in JSON, or the numbers of an array as NumPy prints it; None if it is neither.

    Examples
    --------
    >>> numbers_in("[0.5, -1]"), numbers_in("[ 0.5 -1.  2. ]"), numbers_in("[0.5 ... 1.5]")
    ([0.5, -1], [0.5, -1.0, 2.0], None)
    """
    values = _in_json(text)
    if values is None and (printed := _PRINTED.fullmatch(text)):
        with suppress(ValueError):
            return [float(number) if set(number) & set(".ean") else int(number) for number in printed[1].split()]
    return values


def _in_json(text: str) -> list[Any] | None:
    if not text.lstrip().startswith("["):
        return None
    with suppress(ValueError, RecursionError):
        return list(json.loads(text))
    return None


def _in_python(text: str) -> list[Any] | None:
    """Return the strings, numbers and truth values of a list without lists in it."""
    inner = text.strip()
    if not (inner.startswith("[") and inner.endswith("]")):
        return None
    values, end = list[Any](), 1
    while end < len(inner) - 1:
        found = _PYTHON_VALUE.match(inner, end, len(inner) - 1)
        if found is None:
            return None
        one, two, bare = found.group("one", "two", "bare")
        quoted = one if two is None else two
        values.append(_bare(bare) if quoted is None else _ESCAPED.sub(_meant, quoted))
        end = found.end()
    return values


def _bare(text: str) -> Any:
    """Return a number, a truth value or None; an odd number is a string."""
    if text in _WORDS:
        return _WORDS[text]
    with suppress(ValueError):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    return text


def _meant(escaped: re.Match[str]) -> str:
    """Return the character that an escape of Python's stands for."""
    code = escaped["x"] or escaped["u"] or escaped["U"]
    if code is None:
        return _CONTROLS.get(escaped["one"], escaped["one"])
    return chr(int(code, 16)) if int(code, 16) <= sys.maxunicode else escaped[0]
