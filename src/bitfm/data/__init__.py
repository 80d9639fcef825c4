"""Tables, readers and blocks: everything before the model."""

from bitfm.data.blocks import Block, Blocks, FieldSpan
from bitfm.data.bookshop import Bookshop, Truth, make_bookshop
from bitfm.data.history import history, raters
from bitfm.data.libfm import read_libfm, write_libfm
from bitfm.data.words import Words

__all__ = [
    "Block",
    "Blocks",
    "Bookshop",
    "FieldSpan",
    "Truth",
    "Words",
    "history",
    "make_bookshop",
    "raters",
    "read_libfm",
    "write_libfm",
]
