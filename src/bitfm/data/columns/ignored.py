"""Columns that are left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl
from numpy.typing import NDArray

from bitfm.data.columns._column import FittedColumn, Kind, check_facts
from bitfm.data.columns._lists import exploded
from bitfm.data.columns.infer import Inferred, ObservedColumn
from bitfm.data.columns.registry import register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.persist import check_tensors

__all__ = ["Ignored"]


@register_kind
@dataclass(frozen=True)
class Ignored(Kind):
    """A column that is left out: it has no features.

    Examples
    --------
    >>> Ignored().fit("picture", pl.Series(["http://shop/1.png", "http://shop/2.png"])).width
    0
    """

    called: ClassVar[str] = "ignore"
    priority: ClassVar[int] = 100

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take columns that say nothing about rows."""
        reason = None
        if column.has_lists:
            reason = None if exploded(column.values, None)[1].count() else "no values"
        elif column.values.dtype.is_nested():
            reason = "nested values"
        elif column.distinct == 0:
            reason = "no values"
        elif column.distinct == 1:
            reason = "the same value in every row" if len(column.present) == len(column.values) else None
        elif column.numbers is not None and not len(column.numbers):
            reason = "no finite numbers"
        return Inferred(cls(), reason) if reason else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Learn nothing."""
        return _FittedIgnored(name, self)

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        check_facts(state)
        check_tensors(tensors, {})
        return _FittedIgnored(name, self)


class _FittedIgnored(FittedColumn):
    """No features."""

    width = 0

    def transform(self, values: pl.Series) -> FeatureTable:
        return FeatureTable.empty(len(values), 0)

    def label(self, feature: int) -> str:
        raise IndexError(f"The column {self.name!r} is ignored, so it has no feature {feature}.")

    def facts(self) -> str:
        return "ignored"
