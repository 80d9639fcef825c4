"""Warnings that point to where bitfm was called."""

from __future__ import annotations

import inspect
import warnings

from bitfm.errors import BitfmWarning

__all__ = ["warn"]


def warn(message: str) -> None:
    """Warn, where bitfm was called."""
    depth, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").startswith("bitfm."):
        depth, frame = depth + 1, frame.f_back
    warnings.warn(message, BitfmWarning, stacklevel=depth + 1)
