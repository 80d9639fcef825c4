"""Tables, readers and blocks: everything before the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitfm.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from bitfm.data.blocks import Block, Blocks, FieldSpan
    from bitfm.data.columns import (
        Category,
        DateParts,
        FittedColumn,
        Ignored,
        Inferred,
        Kind,
        MultiCategory,
        Number,
        ObservedColumn,
        Text,
        infer_kind,
        kind_names,
        kind_of,
        register_kind,
    )
    from bitfm.data.feature_table import FeatureTable
    from bitfm.data.history import history, raters
    from bitfm.data.interactions import ColumnRoles, HeldOut, Interactions
    from bitfm.data.libfm import read_libfm, write_libfm
    from bitfm.data.parsing import parse_numbers, parse_times
    from bitfm.data.tables.read import read_table
    from bitfm.data.vocabulary import Vocabulary
    from bitfm.data.words import Words

__all__ = [
    "Block",
    "Blocks",
    "Category",
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
    "Vocabulary",
    "Words",
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
        "bitfm.data.columns": __all__,  # all that is not at home in another module
        "bitfm.data.blocks": ("Block", "Blocks", "FieldSpan"),
        "bitfm.data.feature_table": ("FeatureTable",),
        "bitfm.data.history": ("history", "raters"),
        "bitfm.data.interactions": ("ColumnRoles", "HeldOut", "Interactions"),
        "bitfm.data.libfm": ("read_libfm", "write_libfm"),
        "bitfm.data.parsing": ("parse_numbers", "parse_times"),
        "bitfm.data.tables.read": ("read_table",),
        "bitfm.data.vocabulary": ("Vocabulary",),
        "bitfm.data.words": ("Words",),
    },
)
