"""Columns of tables as features: which kind a column is, what it has learnt, and its sparse table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitfm.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from bitfm.data.columns._column import FittedColumn, Kind
    from bitfm.data.columns.category import Category, MultiCategory
    from bitfm.data.columns.dates import DateParts
    from bitfm.data.columns.infer import Ignored, Inferred, ObservedColumn, infer_kind
    from bitfm.data.columns.number import Number
    from bitfm.data.columns.registry import kind_names, kind_of, register_kind, restore_column
    from bitfm.data.columns.text import Text
    from bitfm.data.parsing import as_text, as_words, one_as_text

__all__ = [
    "Category",
    "DateParts",
    "FittedColumn",
    "Ignored",
    "Inferred",
    "Kind",
    "MultiCategory",
    "Number",
    "ObservedColumn",
    "Text",
    "as_text",
    "as_words",
    "infer_kind",
    "kind_names",
    "kind_of",
    "one_as_text",
    "register_kind",
    "restore_column",
]

# Imported at first use: the names of the kinds are in the help of commands, which waits for nothing else.
__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        "bitfm.data.parsing": ("as_text", "as_words", "one_as_text"),
        "bitfm.data.columns._column": ("FittedColumn", "Kind"),
        "bitfm.data.columns.category": ("Category", "MultiCategory"),
        "bitfm.data.columns.dates": ("DateParts",),
        "bitfm.data.columns.infer": ("Ignored", "Inferred", "ObservedColumn", "infer_kind"),
        "bitfm.data.columns.number": ("Number",),
        "bitfm.data.columns.registry": ("kind_names", "kind_of", "register_kind", "restore_column"),
        "bitfm.data.columns.text": ("Text",),
    },
)
