"""The exceptions bitfm raises beside Python's own, each with a code for programs."""

from __future__ import annotations

from typing import ClassVar


class BitfmError(Exception):
    """Base class of bitfm's own exceptions.

    Attributes
    ----------
    code : str
        Names what is wrong, for programs: ``"unknown-id"``.
    """

    code: ClassVar[str] = "error"

    def __init_subclass__(cls, code: str | None = None) -> None:
        cls.code = code or cls.code


class BitfmWarning(UserWarning):
    """Something that was given could not be used, such as an id that is not known; the message names it."""


class DataFileError(BitfmError, ValueError, code="data-file"):
    """A data file cannot be read as what it claims to be; the message names file, line and column."""


class TableError(BitfmError, ValueError, code="table"):
    """A table cannot be used; the message names the table, the column and the row."""


class MissingColumnError(TableError, code="missing-column"):
    """A table lacks a column that was asked for."""


class EmptyTableError(TableError, code="empty-table"):
    """A table has no rows."""


class ValueInTableError(TableError, code="value-in-table"):
    """A table holds a value that its column is not for: a rating that is no number, an id that is missing."""


class DuplicateRowsError(TableError, code="duplicate-rows"):
    """A table of users or items has two rows for one id."""


class MixedIdsError(TableError, code="mixed-ids"):
    """A column of ids holds values of several types, such as numbers and strings."""


class UnknownIdError(BitfmError, KeyError, code="unknown-id"):
    """A user or an item was asked about that the recommender does not know."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would quote it


class ModelFileError(BitfmError, ValueError, code="model-file"):
    """A model file is damaged or is not a bitfm model."""


class NewerModelFileError(ModelFileError, code="newer-model-file"):
    """A model file comes from a newer bitfm."""


class NotFittedError(BitfmError, ValueError, AttributeError, code="not-fitted"):
    """A recommender was asked before it was fitted."""


class ForkedProcessError(BitfmError, RuntimeError, code="forked-process"):
    """A process was to do what needs Polars' threads, but it was forked from one that had started them."""
