"""What a column of items that is kept as it is can do."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bitfm.persist import Tensors

if TYPE_CHECKING:
    import polars as pl

__all__ = ["KeptColumn"]


@dataclass(frozen=True, eq=False)
class KeptColumn(ABC):
    """Values of items, one per row. It never changes: what updates it makes another."""

    called: ClassVar[str]
    name: str

    @classmethod
    @abstractmethod
    def read(cls, name: str, values: pl.Series, how: str | None = None) -> Self:
        """Take a column; `how` is the decimal mark, the order of dates, or what separates lists."""

    @property
    @abstractmethod
    def how(self) -> str | None:
        """How to read more values of the column."""

    @abstractmethod
    def only(self, rows: npt.NDArray[Any]) -> Self:
        """Return some rows, and nothing of the others; -1 is one that has no value."""

    @abstractmethod
    def replaced(self, rows: npt.NDArray[Any], values: pl.Series, n_rows: int) -> Self:
        """Return n rows of which some have other values; new ones have none unless they are told."""

    def updated(self, rows: npt.NDArray[Any], frame: pl.DataFrame, n_rows: int) -> Self:
        """Return n rows with what a frame, which may lack the column, says of some of them."""
        import polars as pl

        told = self.name in frame.columns
        if not told and n_rows == len(self):
            return self
        values = frame[self.name] if told else pl.Series(self.name, [], dtype=pl.String)
        return self.replaced(rows if told else rows[:0], values, n_rows)

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def equal(self, value: Any) -> npt.NDArray[np.bool_] | None:
        """Return which rows have a value, None of a category that there is not; other values are a `ValueError`."""

    @abstractmethod
    def missing(self) -> npt.NDArray[np.bool_]:
        """Return which rows have no value."""

    @abstractmethod
    def series(self) -> pl.Series:
        """Return the values, for expressions."""

    @abstractmethod
    def groups(self, rows: npt.NDArray[Any]) -> list[tuple[Any, ...]]:
        """Return what tells the values of some rows from others: none, one or several of each."""

    def numbers(self) -> npt.NDArray[np.float64]:
        """Return the values as numbers, 0 for none, or refuse."""
        raise ValueError(f"column {self.name!r} is no column of numbers.")

    def examples(self) -> str:
        """Return some of the values, for messages."""
        return ""

    @abstractmethod
    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays that a model file keeps."""

    @classmethod
    @abstractmethod
    def restored(cls, name: str, how: str | None, tensors: Tensors, n_rows: int, file: str) -> Self:
        """Return a column of the arrays of a file."""
