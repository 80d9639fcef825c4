"""One of several values: a country, a genre, a weekday."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import NDArray

from bitfm.data.casting import as_words
from bitfm.data.columns._column import FittedColumn, Kind, check_count, damage, exactly, whole
from bitfm.data.columns.infer import Inferred, ObservedColumn
from bitfm.data.columns.registry import register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Category"]


_KEEP_ALL = 10_000  # distinct values; of more than these, those that occur once are left out


@dataclass(frozen=True)
class Categories:
    """The categories kept, and how many were not."""

    known: Vocabulary
    once: int  # left out, since they occur once
    rare: int  # left out, since there are too many

    @classmethod
    def of(cls, values: pl.Series, most: int) -> Categories:
        """Choose among the non-null strings of a series."""
        import polars as pl

        counts = pl.DataFrame({"value": values.drop_nulls()}).group_by("value").len()
        found = len(counts)
        if found > _KEEP_ALL:
            counts = counts.filter(pl.col("len") > 1)
        several = len(counts)
        if several > most:
            counts = counts.sort("len", "value", descending=[True, False]).head(most)
        return cls(Vocabulary.of(counts["value"]), found - several, several - len(counts))

    def facts(self) -> str:
        """Return how many there are."""
        n = len(self.known)
        facts = [f"{n:,} {'category' if n == 1 else 'categories'}"]
        if self.once:
            facts.append(f"the {self.once:,} that occur once left out")
        if self.rare:
            facts.append(f"the {self.rare:,} rarest left out")
        return ", ".join(facts)

    def state(self) -> dict[str, Any]:
        """Return how many were left out."""
        return {"once": self.once, "rare": self.rare}

    @classmethod
    def restored(cls, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> Self:
        """Return the categories of `state` and of a vocabulary's tensors."""
        exactly(name, "facts", state, {"once", "rare"})
        try:
            known = Vocabulary.from_tensors(tensors)
        except ModelFileError as error:
            raise damage(name, str(error).rstrip(".").removesuffix("; save the model again")) from None
        return cls(known, whole(name, state, "once"), whole(name, state, "rare"))


class FittedCategories(FittedColumn):
    """A column whose features are categories."""

    def __init__(self, name: str, kind: Kind, categories: Categories) -> None:
        super().__init__(name, kind)
        self.categories = categories

    @property
    def width(self) -> int:
        return len(self.categories.known)

    def label(self, feature: int) -> str:
        return self.categories.known[feature]

    def facts(self) -> str:
        return self.categories.facts()

    def state(self) -> dict[str, Any]:
        return super().state() | self.categories.state()

    def tensors(self) -> dict[str, NDArray[Any]]:
        return self.categories.known.tensors()


@register_kind
@dataclass(frozen=True)
class Category(Kind):
    """One of several values per row, such as a country or a weekday: a feature for each.

    Up to 10,000 distinct values are all kept. Of more than these, a value that occurs once is left out, since it tells
    nothing about other rows. Whole numbers, whole floats and their strings are the same: 25, 25.0 and "25".

    Parameters
    ----------
    max_categories : int, default 1,000,000
        Of more, the most frequent are kept.

    Examples
    --------
    >>> import polars as pl
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
        check_count("Category", "max_categories", self.max_categories)

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take truth values, categories, few whole numbers, and whatever repeats."""
        import polars as pl

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
        return _FittedCategory(name, self, Categories.of(as_words(values), self.max_categories))

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        return _FittedCategory(name, self, Categories.restored(name, state, tensors))


class _FittedCategory(FittedCategories):
    """A value of 1 in the category's feature."""

    def transform(self, values: pl.Series) -> FeatureTable:
        return FeatureTable.one_hot(self.categories.known.numbers(as_words(values)), self.width)
