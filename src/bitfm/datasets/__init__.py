"""Data to try things on: a generated bookshop, which nothing else of the package imports."""

from bitfm.datasets.bookshop import Bookshop, Truth, make_bookshop

__all__ = ["Bookshop", "Truth", "make_bookshop"]
