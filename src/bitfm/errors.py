"""The exceptions bitfm raises beside Python's own, each with the exit code of the command line."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "BitfmError",
    "DataFileError",
    "DuplicateRowsError",
    "EmptyTableError",
    "MissingColumnError",
    "MixedIdsError",
    "ModelFileError",
    "NewerModelFileError",
    "NotFittedError",
    "TableError",
    "UnknownIdError",
    "ValueInTableError",
]


class BitfmError(Exception):
    """Base class of bitfm's own exceptions."""

    exit_code: ClassVar[int] = 1


class DataFileError(BitfmError, ValueError):
    """A data file cannot be read as what it claims to be; the message names file, line and column."""

    exit_code = 4


class TableError(BitfmError, ValueError):
    """A table cannot be used; the message names the table, the column and the row."""

    exit_code = 5


class MissingColumnError(TableError):
    """A table lacks a column that was asked for."""

    exit_code = 6


class EmptyTableError(TableError):
    """A table has no rows."""

    exit_code = 7


class ValueInTableError(TableError):
    """A table holds a value that its column is not for: a rating that is no number, an id that is missing."""

    exit_code = 8


class DuplicateRowsError(TableError):
    """A table of users or items has two rows for one id."""

    exit_code = 9


class MixedIdsError(TableError):
    """A column of ids holds values of several types, such as numbers and strings."""

    exit_code = 10


class UnknownIdError(BitfmError, KeyError):
    """A user or an item was asked about that the recommender does not know."""

    exit_code = 11

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote it


class ModelFileError(BitfmError, ValueError):
    """A model file is damaged or is not a bitfm model."""

    exit_code = 12


class NewerModelFileError(ModelFileError):
    """A model file comes from a newer bitfm."""

    exit_code = 13


class NotFittedError(BitfmError, ValueError, AttributeError):
    """A recommender was asked before it was fitted."""
