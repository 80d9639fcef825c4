"""One of several values, or several of them: a country, a weekday; genres, tags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.columns._column import FittedColumn, Kind, check_facts
from bitfm.data.columns._lists import exploded, find_separator
from bitfm.data.columns.infer import Inferred, ObservedColumn
from bitfm.data.columns.registry import register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.parsing import as_words
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError
from bitfm.validation import check_integer

_KEEP_ALL = 10_000  # distinct values; of more than these, those that occur once are left out


@register_kind
@dataclass(frozen=True)
class Category(Kind):
    """One of several values per row, such as a country or a weekday: one feature per value.

    Up to 10,000 distinct values are all kept. Of more than these, a value that occurs once is left out, since it tells
    nothing about other rows. Whole numbers, whole floats and their strings are the same: 25, 25.0 and "25".

    Parameters
    ----------
    max_categories : int, default 1,000,000
        Of more, the most frequent are kept.

    Examples
    --------
    >>> column = Category().fit("age", pl.Series([25, 18, None, 25]))
    >>> [column.label(feature) for feature in range(column.width)]
    ['18', '25']
    >>> column.transform(pl.Series(["25", "99"])).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    called: ClassVar[str] = "category"
    priority: ClassVar[int] = 50
    max_categories: int = 1_000_000

    def __post_init__(self) -> None:
        check_integer("Category: max_categories", self.max_categories, 1)

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take booleans, categories, few integers, and whatever repeats."""
        distinct, dtype = column.distinct, column.values.dtype
        if distinct == 1:
            return Inferred(cls(), "one value or none")
        if dtype == pl.Boolean:
            return Inferred(cls(), "true or false")
        if column.integers and not column.has_codes:
            return Inferred(cls(), f"{distinct} distinct whole numbers")
        known = dtype in (pl.Categorical, pl.Enum) or column.repeats
        return Inferred(cls(), f"{distinct:,} categories") if known else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the categories."""
        return _FittedCategory.of(name, self, as_words(values))

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        return _FittedCategory.restored(name, self, state, tensors)


@register_kind
@dataclass(frozen=True)
class MultiCategory(Kind):
    """Several values per row, such as genres or tags: one feature per value, of those that `Category` would keep.

    A row with n of them has 1/√n in each, so that a long list weighs no more than a short one.

    Parameters
    ----------
    separator : str, optional
        What stands between the values of a string; by default the one of ``|``, ``;`` and ``,`` that fits.
    max_categories : int, default 1,000,000
        Of more, the most frequent are kept.

    Examples
    --------
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
        check_integer("MultiCategory: max_categories", self.max_categories, 1)

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take lists, and strings that hold some."""
        if column.has_lists:
            return Inferred(cls(), "lists")
        separator = find_separator(column.sample) if column.has_strings else None
        return Inferred(cls(separator), f"lists separated by {separator!r}") if separator is not None else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the categories, and the separator if it was not declared."""
        separator = self.separator or find_separator(values)
        _, tokens = exploded(values, separator)
        return _FittedMultiCategory.of(name, replace(self, separator=separator), as_words(tokens))

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        return _FittedMultiCategory.restored(name, self, state, tensors)


class _FittedCategory(FittedColumn):
    """A value of 1 in the category's feature."""

    kind: Category | MultiCategory

    def __init__(self, name: str, kind: Kind, known: Vocabulary, once: int, rare: int) -> None:
        super().__init__(name, kind)
        self._known, self._once, self._rare = known, once, rare  # `once` occur once, `rare` are too many: left out

    @classmethod
    def of(cls, name: str, kind: Category | MultiCategory, values: pl.Series) -> Self:
        """Choose among the non-null strings of a series."""
        counts = pl.DataFrame({"value": values.drop_nulls()}).group_by("value").len()
        distinct = len(counts)
        if distinct > _KEEP_ALL:
            counts = counts.filter(pl.col("len") > 1)
        several = len(counts)
        if several > kind.max_categories:
            counts = counts.sort("len", "value", descending=[True, False]).head(kind.max_categories)
        return cls(name, kind, Vocabulary.of(counts["value"]), distinct - several, several - len(counts))

    @classmethod
    def restored(cls, name: str, kind: Kind, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> Self:
        check_facts(state, once=int, rare=int)
        if min(state.values()) < 0:
            raise ModelFileError(f"has left out {state['once']} and {state['rare']} categories")
        return cls(name, kind, Vocabulary.from_tensors(tensors), **state)

    @property
    def width(self) -> int:
        return len(self._known)

    def transform(self, values: pl.Series) -> FeatureTable:
        return FeatureTable.one_hot(self._known.indices(as_words(values)), self.width)

    def label(self, feature: int) -> str:
        return self._known[feature]

    def facts(self) -> str:
        once = f", the {self._once:,} that occur once left out" if self._once else ""
        rare = f", the {self._rare:,} rarest left out" if self._rare else ""
        return f"{self.width:,} {'category' if self.width == 1 else 'categories'}{once}{rare}"

    def state(self) -> dict[str, Any]:
        return super().state() | {"once": self._once, "rare": self._rare}

    def tensors(self) -> dict[str, NDArray[Any]]:
        return self._known.tensors()


class _FittedMultiCategory(_FittedCategory):
    """1/√n in the features of a row's n known categories."""

    kind: MultiCategory

    def transform(self, values: pl.Series) -> FeatureTable:
        rows, tokens = exploded(values, self.kind.separator)
        indices = self._known.indices(as_words(tokens))
        known = np.flatnonzero(indices >= 0)
        return FeatureTable.unit_rows(rows[known], indices[known], (len(values), self.width))

    def facts(self) -> str:
        return super().facts() + ("" if self.kind.separator is None else f", split at {self.kind.separator!r}")
