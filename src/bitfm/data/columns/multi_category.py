"""Several values per row: genres, tags, authors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from bitfm.data.casting import as_words
from bitfm.data.columns._column import FittedColumn, Kind, check_count
from bitfm.data.columns._lists import exploded, find_separator
from bitfm.data.columns.category import Categories, FittedCategories
from bitfm.data.columns.infer import Inferred, ObservedColumn
from bitfm.data.columns.registry import register_kind
from bitfm.data.feature_table import FeatureTable

if TYPE_CHECKING:
    import polars as pl

__all__ = ["MultiCategory"]


@register_kind
@dataclass(frozen=True)
class MultiCategory(Kind):
    """Several values a row, such as genres or tags: a feature for each.

    A row with n of them has 1/√n in each, so that a long list weighs no more than a short one. Which values are kept is
    decided as for `Category`.

    Parameters
    ----------
    separator : str, optional
        What stands between the values of a string. By default the one of ``|``, ``;`` and ``,`` that fits. A column
        of lists needs none.
    max_categories : int, default 1,000,000
        Of more, the most frequent are kept.

    Examples
    --------
    >>> import polars as pl
    >>> column = MultiCategory("|").fit("genres", pl.Series(["Comedy|Drama", "Drama", None]))
    >>> [column.label(feature) for feature in range(column.width)]
    ['Comedy', 'Drama']
    >>> column.transform(pl.Series([["Drama"], ["Comedy", "Drama"]])).toarray().round(2)
    array([[0.  , 1.  ],
           [0.71, 0.71]], dtype=float32)
    """

    called: ClassVar[str] = "multi-category"
    priority: ClassVar[int] = 90
    separator: str | None = None
    max_categories: int = 1_000_000

    def __post_init__(self) -> None:
        if self.separator is not None and (not isinstance(self.separator, str) or not self.separator):
            raise ValueError(f"MultiCategory: separator must be a string such as '|' or None, got {self.separator!r}.")
        check_count("MultiCategory", "max_categories", self.max_categories)

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take lists, and strings that hold some."""
        if column.has_lists:
            return Inferred(cls(), "lists")
        if not column.is_text or column.distinct < 2 or column.has_dates or column.numbers is not None:
            return None
        separator = find_separator(column.sample)
        return Inferred(cls(separator), f"lists separated by {separator!r}") if separator is not None else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the categories, and the separator if it was not given."""
        separator = self.separator or find_separator(values)
        _, tokens = exploded(values, separator)
        categories = Categories.of(as_words(tokens), self.max_categories)
        return _FittedMultiCategory(name, replace(self, separator=separator), categories)

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        return _FittedMultiCategory(name, self, Categories.restored(name, state, tensors))


class _FittedMultiCategory(FittedCategories):
    """1/√n in the features of a row's n known categories."""

    kind: MultiCategory

    def transform(self, values: pl.Series) -> FeatureTable:
        rows, tokens = exploded(values, self.kind.separator)
        numbers = self.categories.known.numbers(as_words(tokens))
        known = np.flatnonzero(numbers >= 0)
        return FeatureTable.unit_rows(rows[known], numbers[known], (len(values), self.width))

    def facts(self) -> str:
        split = "" if self.kind.separator is None else f", split at {self.kind.separator!r}"
        return super().facts() + split
