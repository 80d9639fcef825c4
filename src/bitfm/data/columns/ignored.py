"""Columns that are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from numpy.typing import NDArray

from bitfm.data.columns._column import FittedColumn, Kind, exactly
from bitfm.data.columns._lists import exploded
from bitfm.data.columns.infer import Inferred, ObservedColumn
from bitfm.data.columns.registry import register_kind
from bitfm.data.feature_table import FeatureTable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Ignored"]


@register_kind
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
    priority: ClassVar[int] = 100

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take columns that say nothing about rows."""
        if column.has_lists:
            return None if exploded(column.values, None)[1].count() else Inferred(cls(), "no values")
        if column.values.dtype.is_nested():
            return Inferred(cls(), "nested values")
        if column.distinct == 0:
            return Inferred(cls(), "no values")
        if column.distinct == 1:
            everywhere = len(column.present) == len(column.values)
            return Inferred(cls(), "the same value in every row") if everywhere else None
        if column.numbers is not None and not len(column.numbers):
            return Inferred(cls(), "no finite numbers")
        return None

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

    def transform(self, values: pl.Series) -> FeatureTable:
        return FeatureTable.empty(len(values), 0)

    def label(self, feature: int) -> str:
        raise IndexError(f"The column {self.name!r} is ignored, so it has no feature {feature}.")

    def facts(self) -> str:
        return "ignored"
