"""Tables of users, items and interactions: from frames and files, checked, with errors that name the row."""

from bitfm.data.tables.frames import FrameKind, as_frame, in_kind, with_missing
from bitfm.data.tables.values import ids_of, need_columns, need_distinct, need_rows, numbers_of, times_of

__all__ = [
    "FrameKind",
    "as_frame",
    "ids_of",
    "in_kind",
    "need_columns",
    "need_distinct",
    "need_rows",
    "numbers_of",
    "times_of",
    "with_missing",
]
