"""Columns that are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import scipy.sparse as sp
from numpy.typing import NDArray

from bitfm.data.columns._column import FittedColumn, Kind, empty_rows, exactly

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ignored"]


@dataclass(frozen=True)
class Ignored(Kind):
    """A column that is left out: it has no features.

    Examples
    --------
    >>> import polars as pl
    >>> Ignored().fit("picture", pl.Series(["http://shop/1.png", "http://shop/2.png"])).width
    0
    """

    called: ClassVar[str] = "ignore"

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Learn nothing."""
        return _FittedIgnored(name, self)

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        exactly(name, "facts", state, set())
        exactly(name, "tensors", tensors, set())
        return _FittedIgnored(name, self)


class _FittedIgnored(FittedColumn):
    """No features."""

    @property
    def width(self) -> int:
        return 0

    def transform(self, values: pl.Series) -> sp.csr_matrix:
        return empty_rows(len(values), 0)

    def label(self, feature: int) -> str:
        raise IndexError(f"The column {self.name!r} is ignored, so it has no feature {feature}.")

    def facts(self) -> str:
        return "ignored"
