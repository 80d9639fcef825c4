"""What kinds of column and fitted columns have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from reprlib import repr as short  # what a file says is of any length
from typing import TYPE_CHECKING, Any, ClassVar, Self

import polars as pl
from numpy.typing import NDArray

from bitfm.data.feature_table import FeatureTable
from bitfm.errors import ModelFileError

if TYPE_CHECKING:
    from bitfm.data.columns.infer import Inferred, ObservedColumn


@dataclass(frozen=True)
class Kind(ABC):
    """How a column becomes features: derive a frozen dataclass from it and register it with `register_kind`.

    Its fields are the settings, which a model file keeps, so each is something that JSON can hold. Users declare it by
    the name ``called``. Kinds of high ``priority`` are the first to infer what a column is: "ignore" has 100,
    "multi-category" 90, "date" 80, "number" 70, "text" 60 and "category" 50.

    Examples
    --------
    >>> from bitfm.data import kind_of
    >>> isinstance(kind_of("category"), Kind)
    True
    """

    called: ClassVar[str]
    priority: ClassVar[int] = 95

    @classmethod
    def shorthands(cls) -> dict[str, Self]:
        """Return what a user may declare by name: by default the kind with its default settings, if all have one."""
        needed = any(f.default is MISSING and f.default_factory is MISSING for f in fields(cls))
        return {} if needed else {cls.called: cls()}

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Return this kind, with settings and the reason, if a column looks like it; by default never."""
        return None

    @abstractmethod
    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Learn the features of a column from its values, which are of any type."""

    def readable(self, values: pl.Series) -> bool:
        """Tell whether any of these non-null values can be read as this kind; if none can, declaring it is an error."""
        return True

    @abstractmethod
    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return a fitted column of its `state`, without name and kind, and `tensors`, or raise `ModelFileError`."""


class FittedColumn(ABC):
    """A column whose features are known: the ``fit`` of its ``kind`` makes it.

    Examples
    --------
    >>> from bitfm.data import Category
    >>> column = Category().fit("country", pl.Series(["es", "us", None, "es"]))
    >>> column.width, column.label(0), column.facts()
    (2, 'es', '2 categories')
    >>> column.transform(pl.Series(["us", None])).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.name, self.kind = name, kind

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features; 0 if the column tells nothing."""

    @abstractmethod
    def transform(self, values: pl.Series) -> FeatureTable:
        """Return one row per value of any type, float32; empty where the value is missing or was never seen."""

    @abstractmethod
    def label(self, feature: int) -> str:
        """Return what a feature stands for, for people to read."""

    @abstractmethod
    def facts(self) -> str:
        """Return in a few words what the features are."""

    def state(self) -> dict[str, Any]:
        """Return what is not in `tensors`, as JSON can hold it."""
        return {"kind": self.kind.called, "settings": asdict(self.kind), "name": self.name}

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a model file keeps."""
        return {}


def check_facts(state: Mapping[str, Any], **types: type) -> None:
    """Refuse a state that holds anything but facts of these names and types."""
    if {key: type(value) for key, value in state.items()} != types:
        raise ModelFileError(f"has the facts {short(dict(state))}, expected {', '.join(types) or 'none'}")
