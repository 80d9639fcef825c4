"""Numbers and times from what stands for them."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

NO_TIME = -(2**63)  # where there is none
_LATEST = 2**53  # seconds; beyond it a double no longer holds each


def number(what: str, value: Any) -> float:
    """Return a number, or the number that a string stands for."""
    try:
        result = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        result = math.nan
    if not math.isfinite(result):
        raise ValueError(f"{what} is {short(value)}; expected a finite number")
    return result


def seconds(what: str, value: Any) -> int:
    """Return a time in seconds since 1970, from such a number or a date as in ISO 8601; None is no time."""
    if value is None or value == "":
        return NO_TIME
    try:
        return _whole_seconds(number(what, value))
    except ValueError:
        pass
    try:
        moment = datetime.fromisoformat(value)
        return _whole_seconds((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp())
    except (TypeError, ValueError, OverflowError):
        raise ValueError(
            f"{what} is {short(value)}; expected seconds since 1970 or a date such as 2018-07-13 20:15:00"
        ) from None


def _whole_seconds(value: float) -> int:
    if abs(value) > _LATEST:
        raise ValueError("too far from 1970")
    return math.floor(value)


def short(value: Any) -> str:
    """Return a value as a message shows it."""
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
