"""Columns of tables as features: which kind a column is, what it has learnt, and its sparse table."""

from bitfm.data.casting import as_text, one_as_text
from bitfm.data.columns._column import FittedColumn, Kind
from bitfm.data.columns.category import Category
from bitfm.data.columns.dates import DateParts
from bitfm.data.columns.ignored import Ignored
from bitfm.data.columns.infer import Inferred, infer_kind
from bitfm.data.columns.kinds import kind_of, restore_column
from bitfm.data.columns.multi_category import MultiCategory
from bitfm.data.columns.number import Number
from bitfm.data.columns.text import Text

__all__ = [
    "Category",
    "DateParts",
    "FittedColumn",
    "Ignored",
    "Inferred",
    "Kind",
    "MultiCategory",
    "Number",
    "Text",
    "as_text",
    "infer_kind",
    "kind_of",
    "one_as_text",
    "restore_column",
]
