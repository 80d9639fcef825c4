"""Tables, readers and blocks: everything before the model."""

from bitfm.data.blocks import Block, Blocks, FieldSpan
from bitfm.data.bookshop import Bookshop, Truth, make_bookshop
from bitfm.data.libfm import read_libfm, write_libfm

__all__ = [
    "Block",
    "Blocks",
    "Bookshop",
    "FieldSpan",
    "Truth",
    "make_bookshop",
    "read_libfm",
    "write_libfm",
]
