"""The exceptions bitfm raises beside Python's own, each with a code for programs."""

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
    """Base class of bitfm's own exceptions.

    Attributes
    ----------
    code : str
        Names what is wrong, for programs: ``"unknown-id"``.
    """

    code: ClassVar[str] = "error"


class DataFileError(BitfmError, ValueError):
    """A data file cannot be read as what it claims to be; the message names file, line and column."""

    code = "data-file"


class TableError(BitfmError, ValueError):
    """A table cannot be used; the message names the table, the column and the row."""

    code = "table"


class MissingColumnError(TableError):
    """A table lacks a column that was asked for."""

    code = "missing-column"


class EmptyTableError(TableError):
    """A table has no rows."""

    code = "empty-table"


class ValueInTableError(TableError):
    """A table holds a value that its column is not for: a rating that is no number, an id that is missing."""

    code = "value-in-table"


class DuplicateRowsError(TableError):
    """A table of users or items has two rows for one id."""

    code = "duplicate-rows"


class MixedIdsError(TableError):
    """A column of ids holds values of several types, such as numbers and strings."""

    code = "mixed-ids"


class UnknownIdError(BitfmError, KeyError):
    """A user or an item was asked about that the recommender does not know."""

    code = "unknown-id"

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote it


class ModelFileError(BitfmError, ValueError):
    """A model file is damaged or is not a bitfm model."""

    code = "model-file"


class NewerModelFileError(ModelFileError):
    """A model file comes from a newer bitfm."""

    code = "newer-model-file"


class NotFittedError(BitfmError, ValueError, AttributeError):
    """A recommender was asked before it was fitted."""

    code = "not-fitted"
