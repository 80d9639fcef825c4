"""Tables, readers and blocks: everything before the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitfm.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from bitfm.data.blocks import Block, Blocks, FieldSpan
    from bitfm.data.columns.category import Category, MultiCategory
    from bitfm.data.columns.dates import DateParts
    from bitfm.data.columns.infer import Ignored, ObservedColumn, infer_kind
    from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, kind_names, kind_of, register_kind
    from bitfm.data.columns.number import Number
    from bitfm.data.columns.text import Text
    from bitfm.data.columns.vector import Vector
    from bitfm.data.feature_table import FeatureTable
    from bitfm.data.formats import Choice
    from bitfm.data.interactions import ColumnRoles, HeldOut, Interactions
    from bitfm.data.libfm import read_libfm, write_libfm
    from bitfm.data.numbers import decimal_mark, parse_numbers
    from bitfm.data.one_hot import history, raters
    from bitfm.data.tables.read import read_table
    from bitfm.data.texts import as_words
    from bitfm.data.times import date_order, parse_times
    from bitfm.data.vocabulary import Vocabulary
    from bitfm.data.words import Words

__all__ = [
    "Block",
    "Blocks",
    "Category",
    "Choice",
    "ColumnRoles",
    "DateParts",
    "FeatureTable",
    "FieldSpan",
    "FittedColumn",
    "HeldOut",
    "Ignored",
    "Inferred",
    "Interactions",
    "Kind",
    "MultiCategory",
    "Number",
    "ObservedColumn",
    "Text",
    "Vector",
    "Vocabulary",
    "Words",
    "as_words",
    "date_order",
    "decimal_mark",
    "history",
    "infer_kind",
    "kind_names",
    "kind_of",
    "parse_numbers",
    "parse_times",
    "raters",
    "read_libfm",
    "read_table",
    "register_kind",
    "write_libfm",
]

# Imported at first use: a query needs neither the readers of files nor what fits words.
__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        "bitfm.data.blocks": ("Block", "Blocks", "FieldSpan"),
        "bitfm.data.columns.category": ("Category", "MultiCategory"),
        "bitfm.data.columns.dates": ("DateParts",),
        "bitfm.data.columns.infer": ("Ignored", "ObservedColumn", "infer_kind"),
        "bitfm.data.columns.kinds": ("FittedColumn", "Inferred", "Kind", "kind_names", "kind_of", "register_kind"),
        "bitfm.data.columns.number": ("Number",),
        "bitfm.data.columns.text": ("Text",),
        "bitfm.data.columns.vector": ("Vector",),
        "bitfm.data.feature_table": ("FeatureTable",),
        "bitfm.data.interactions": ("ColumnRoles", "HeldOut", "Interactions"),
        "bitfm.data.libfm": ("read_libfm", "write_libfm"),
        "bitfm.data.numbers": ("decimal_mark", "parse_numbers"),
        "bitfm.data.one_hot": ("history", "raters"),
        "bitfm.data.formats": ("Choice",),
        "bitfm.data.tables.read": ("read_table",),
        "bitfm.data.texts": ("as_words",),
        "bitfm.data.times": ("date_order", "parse_times"),
        "bitfm.data.vocabulary": ("Vocabulary",),
        "bitfm.data.words": ("Words",),
    },
)
