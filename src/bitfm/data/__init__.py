"""Tables, readers and blocks: everything before the model."""

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
    Text,
    infer_kind,
    kind_of,
)
from bitfm.data.history import history, raters
from bitfm.data.libfm import read_libfm, write_libfm
from bitfm.data.tables import read_table
from bitfm.data.vocabulary import Vocabulary
from bitfm.data.words import Words

__all__ = [
    "Block",
    "Blocks",
    "Category",
    "DateParts",
    "FieldSpan",
    "FittedColumn",
    "Ignored",
    "Inferred",
    "Kind",
    "MultiCategory",
    "Number",
    "Text",
    "Vocabulary",
    "Words",
    "history",
    "infer_kind",
    "kind_of",
    "raters",
    "read_libfm",
    "read_table",
    "write_libfm",
]
