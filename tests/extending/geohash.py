"""A kind of column that bitfm does not have: places as geohashes, whose beginnings name the regions they are in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from bitfm.data import FeatureTable, FittedColumn, Inferred, Kind, ObservedColumn, Vocabulary, as_words, register_kind

_GEOHASH = r"^[0-9b-hjkmnp-z]{5,12}$"


@register_kind
@dataclass(frozen=True)
class Geohash(Kind):
    """Places such as ``u4pruydqqvj``: a feature for each region around them, from continents to quarters."""

    called: ClassVar[str] = "geohash"
    precision: int = 5

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take strings that look like geohashes in a column that is called so."""
        if column.is_text and column.name.endswith("geohash") and column.sample.str.contains(_GEOHASH).all():
            return Inferred(cls(), f"places such as {column.sample[0]}")
        return None

    def readable(self, values: pl.Series) -> bool:
        """Tell whether any value is a geohash."""
        return bool(as_words(values).str.contains(_GEOHASH).any())

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Take the regions that occur."""
        return FittedGeohash(name, self, Vocabulary.of(_regions(values, self.precision)[1]))

    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, Any]) -> FittedColumn:
        """Return the fitted column of what it saved."""
        return FittedGeohash(name, self, Vocabulary.from_tensors(tensors))


class FittedGeohash(FittedColumn):
    """1/√n in the features of the n known regions that a place is in."""

    kind: Geohash

    def __init__(self, name: str, kind: Geohash, regions: Vocabulary) -> None:
        super().__init__(name, kind)
        self.regions = regions

    @property
    def width(self) -> int:
        return len(self.regions)

    def transform(self, values: pl.Series) -> FeatureTable:
        rows, regions = _regions(values, self.kind.precision)
        features = self.regions.indices(regions)
        known = features >= 0
        return FeatureTable.unit_rows(rows[known], features[known], (len(values), self.width))

    def label(self, feature: int) -> str:
        return f"region {self.regions[feature]}"

    def facts(self) -> str:
        return f"{self.width} regions"

    def only(self, features: np.ndarray) -> FittedColumn:
        return FittedGeohash(self.name, self.kind, self.regions.only(features))

    def tensors(self) -> dict[str, Any]:
        return self.regions.tensors()


def _regions(values: pl.Series, precision: int) -> tuple[np.ndarray, pl.Series]:
    """Return the regions of all places, the largest first, and the row of each."""
    places = as_words(values)
    places = places.set(~places.str.contains(_GEOHASH), None)
    rows = np.tile(np.arange(len(places)), precision)
    regions = pl.concat([places.str.head(length + 1) for length in range(precision)])
    there = regions.is_not_null()
    return rows[there.to_numpy()], regions.filter(there)
