"""Tables of users, items and interactions: from frames and files, checked, with errors that name the row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitfm.data.tables.checks import need_columns, need_distinct, need_rows
from bitfm.data.tables.frames import FrameKind, as_frame, in_kind
from bitfm.data.tables.values import Ids, ids_of, numbers_of, times_of
from bitfm.lazy import lazy_names as _lazy_names

if TYPE_CHECKING:
    from bitfm.data.tables.read import read_table

__all__ = [
    "FrameKind",
    "Ids",
    "as_frame",
    "ids_of",
    "in_kind",
    "need_columns",
    "need_distinct",
    "need_rows",
    "numbers_of",
    "read_table",
    "times_of",
]

__getattr__, __dir__ = _lazy_names(__name__, {"bitfm.data.tables.read": ("read_table",)})  # a query reads no files
