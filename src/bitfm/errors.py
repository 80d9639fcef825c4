"""The exceptions bitfm raises beside Python's own."""

from __future__ import annotations

__all__ = ["BitfmError", "DataFileError", "ModelFileError"]


class BitfmError(Exception):
    """Base class of bitfm's own exceptions."""


class DataFileError(BitfmError, ValueError):
    """A data file cannot be read as what it claims to be; the message names file, line and column."""


class ModelFileError(BitfmError, ValueError):
    """A model file is damaged, is not a bitfm model, or comes from a newer bitfm."""
