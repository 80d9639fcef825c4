"""What kinds of column and fitted columns have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from bitfm.data.feature_table import FeatureTable
from bitfm.errors import ModelFileError

if TYPE_CHECKING:
    import polars as pl

    from bitfm.data.columns.infer import Inferred, ObservedColumn

__all__ = ["FittedColumn", "Kind"]


@dataclass(frozen=True)
class Kind(ABC):
    """How a column becomes features: derive a frozen dataclass from it and register it with `register_kind`.

    Its fields are the settings, which a model file keeps, so each is something that JSON can hold.

    Attributes
    ----------
    called : str
        The name by which a user declares it.
    priority : int
        When it is asked what a column is: the highest first. The package's own are "ignore" 100, "multi-category" 90,
        "date" 80, "number" 70, "text" 60 and "category" 50.

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
        """Return this kind, with settings and the reason, if a column looks like it; by default never.

        Parameters
        ----------
        column : ObservedColumn
            Its name, its values, and what others have found out about them.
        """
        return None

    @abstractmethod
    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Learn the features of a column from its values.

        Parameters
        ----------
        name : str
            What the column is called.
        values : polars.Series
            Of any type.
        """

    def readable(self, values: pl.Series) -> bool:
        """Tell whether any of the values can be read as this kind; if none can, declaring it was a mistake.

        Parameters
        ----------
        values : polars.Series
            One or more, of any type, none of them null.
        """
        return True

    @abstractmethod
    def restored(self, name: str, state: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> FittedColumn:
        """Return a fitted column of what it saved.

        Parameters
        ----------
        name : str
            What the column is called.
        state : mapping
            Of `FittedColumn.state`, without what says the name and the kind.
        tensors : mapping
            Of `FittedColumn.tensors`.

        Raises
        ------
        ModelFileError
            If they are not what such a column saves.
        """


class FittedColumn(ABC):
    """A column whose features are known: its kind's ``fit`` makes it.

    Attributes
    ----------
    name : str
        What the column is called.
    kind : Kind
        As declared or inferred.

    Examples
    --------
    >>> import polars as pl
    >>> from bitfm.data import Category
    >>> column = Category().fit("country", pl.Series(["es", "us", None, "es"]))
    >>> column.width, column.label(0), column.facts()
    (2, 'es', '2 categories')
    >>> column.transform(pl.Series(["us", "atlantis", None])).toarray()
    array([[0., 1.],
           [0., 0.],
           [0., 0.]], dtype=float32)
    """

    def __init__(self, name: str, kind: Kind) -> None:
        self.name = name
        self.kind = kind

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features; 0 if the column tells nothing."""

    @abstractmethod
    def transform(self, values: pl.Series) -> FeatureTable:
        """Return one row per value, float32; empty where the value is missing or was never seen.

        Parameters
        ----------
        values : polars.Series
            Of any type, whatever the type was when the column was fitted.
        """

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


def damage(name: str, what: str) -> ModelFileError:
    """Return the error that says what is wrong with a column of a model file."""
    return ModelFileError(f"The column {name!r} of the model is damaged: {what}; save the model again.")


def whole(name: str, state: Mapping[str, Any], key: str) -> int:
    """Return a whole number from 0 up of a state."""
    value = state.get(key)
    if type(value) is not int or value < 0:
        raise damage(name, f"{key} is {value!r}, expected a whole number from 0 up")
    return value


def exactly(name: str, what: str, given: Mapping[str, Any], expected: set[str]) -> None:
    """Refuse a mapping that lacks a key or has one too many."""
    if set(given) != expected:
        raise damage(name, f"its {what} are {sorted(map(str, given))}, expected {sorted(expected)}")


def reals(name: str, tensors: Mapping[str, NDArray[Any]], key: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return finite float64 numbers of the tensors; -1 in the shape stands for any length."""
    array = tensors[key]
    fits = len(array.shape) == len(shape) and all(
        want in (-1, have) for want, have in zip(shape, array.shape, strict=True)
    )
    if array.dtype != np.float64 or not fits or not np.isfinite(array).all():
        raise damage(name, f"{key} is {array.dtype} of shape {array.shape} or not finite, expected float64 of {shape}")
    return array


def check_count(kind: str, name: str, value: Any) -> None:
    """Refuse a setting that is not a whole number from 1 up."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{kind}: {name} must be a whole number from 1 up, got {value!r}.")
