"""Which categories of a column are kept, and a fitted column of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import NDArray

from bitfm.data.columns._column import FittedColumn, Kind, damage, exactly, whole
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError

if TYPE_CHECKING:
    import polars as pl

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
