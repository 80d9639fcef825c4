"""What a kind of column and a fitted column are; the kinds there are, of this package and of others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from reprlib import repr as short  # what a file says is of any length
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from bitfm.errors import ModelFileError

if TYPE_CHECKING:  # the names of the kinds are in the help of commands, which waits for nothing else
    import polars as pl
    from numpy.typing import NDArray

    from bitfm.data.columns.infer import ObservedColumn
    from bitfm.data.feature_table import FeatureTable
    from bitfm.persist import Tensors

_GROUP = "bitfm.columns"
_BUILT_IN = {
    name: EntryPoint(name, f"bitfm.data.columns.{place}", _GROUP)
    for name, place in {
        "category": "category:Category",
        "multi-category": "category:MultiCategory",
        "number": "number:Number",
        "standard": "number:Number",
        "text": "text:Text",
        "date": "dates:DateParts",
        "vector": "vector:Vector",
        "ignore": "infer:Ignored",
    }.items()
}
_KINDS: dict[str, type[Kind]] = {}  # by the kind's name and by its shorthands

K = TypeVar("K", bound="type[Kind]")


@dataclass(frozen=True)
class Kind(ABC):
    """How a column becomes features: derive a frozen dataclass from it and register it with `register_kind`.

    Its fields are the settings, which a model file keeps, so each is something that JSON can hold. Users declare it by
    the name ``called``. Kinds of high ``priority`` are the first to infer what a column is: "ignore" has 100,
    "multi-category" 90, "date" 80, "number" 70, "text" 60 and "category" 50.

    Examples
    --------
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
    def restored(self, name: str, state: Mapping[str, Any], tensors: Tensors) -> FittedColumn:
        """Return a fitted column of its `state`, without name and kind, and `tensors`, or raise `ModelFileError`."""


@dataclass(frozen=True)
class Inferred:
    """A kind of column, and the reason in a few words for people to read.

    Examples
    --------
    >>> import polars as pl
    >>> from bitfm.data import infer_kind
    >>> infer_kind("stars", pl.Series([3, 5, None, 3]))
    Inferred(kind=Category(max_categories=1000000), reason='2 distinct whole numbers')
    """

    kind: Kind
    reason: str


@dataclass(eq=False)
class FittedColumn(ABC):
    """A column whose features are known: the ``fit`` of its ``kind`` makes it.

    Examples
    --------
    >>> import polars as pl
    >>> column = kind_of("category").fit("country", pl.Series(["es", "us", None, "es"]))
    >>> column.width, column.label(0), column.facts()
    (2, 'es', '2 categories')
    >>> column.transform(pl.Series(["us", None])).toarray()
    array([[0., 1.],
           [0., 0.]], dtype=float32)
    """

    name: str
    kind: Kind

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of features; 0 if the column tells nothing."""

    @property
    def word_weights(self) -> NDArray[Any] | None:
        """If rows are of words × these weights, at unit length: a file then keeps the words alone."""
        return None

    @abstractmethod
    def transform(self, values: pl.Series) -> FeatureTable:
        """Return one row per value of any type, float32; empty where the value is missing or was never seen."""

    @abstractmethod
    def label(self, feature: int) -> str:
        """Return what a feature stands for, for people to read."""

    @abstractmethod
    def facts(self) -> str:
        """Return in a few words what the features are."""

    def only(self, features: NDArray[Any]) -> FittedColumn | None:
        """Return the column with some of its features, given in rising order, after rows were removed.

        None, the default, is for features that are no values of rows, such as ranges: all of them stay.
        """
        return None

    def state(self) -> dict[str, Any]:
        """Return what is not in `tensors`, as JSON can hold it."""
        return {"kind": self.kind.called, "settings": asdict(self.kind), "name": self.name}

    def tensors(self) -> Tensors:
        """Return the arrays that a model file keeps."""
        return {}


def register_kind(kind: K) -> K:
    """Register a class derived from `Kind` by its name, so that users can declare it and files that have it open.

    A decorator of the class. A package that is installed need not be imported first if it has an entry point in the
    group ``bitfm.columns`` with the kind's name.

    Examples
    --------
    >>> from bitfm.data import Category
    >>> register_kind(Category) is Category
    True
    """
    if not (isinstance(kind, type) and issubclass(kind, Kind)) or not isinstance(getattr(kind, "called", None), str):
        raise TypeError(f"register_kind: expected a class derived from Kind with a name in `called`, got {kind!r}.")
    names = kind.called, *kind.shorthands()
    for name in names:
        foreign = name in _BUILT_IN and kind.__module__ != _BUILT_IN[name].module
        other = _KINDS.get(name, kind)  # the same when its module is imported again
        if foreign or (other.__module__, other.__qualname__) != (kind.__module__, kind.__qualname__):
            what = f"there is a kind called {name!r} already; give {kind.__name__} another name."
            raise ValueError(f"register_kind: {what}")
    _KINDS.update(dict.fromkeys(names, kind))
    return kind


def kind_names() -> list[str]:
    """Return the names that a user can declare, without loading what they stand for.

    Examples
    --------
    >>> kind_names()[:4]
    ['category', 'multi-category', 'number', 'standard']
    """
    declarable = [name for name, kind in _KINDS.items() if name in kind.shorthands()]
    return list(dict.fromkeys([*_BUILT_IN, *declarable, *_installed()]))


def all_kinds() -> list[type[Kind]]:
    """Return all kinds, those of the highest priority first."""
    for name in (*_BUILT_IN, *_installed()):
        _kind(name)
    return sorted(dict.fromkeys(_KINDS.values()), key=lambda kind: -kind.priority)


def kind_of(declared: str | Kind) -> Kind:
    """Return the kind of column that a user declared, as an instance or by its name (see `kind_names`).

    Examples
    --------
    >>> kind_of("standard")
    Number(scale='standard', bins=10, decimal=None)
    """
    if isinstance(declared, Kind):
        return declared
    if isinstance(declared, type) and issubclass(declared, Kind):
        raise TypeError(f"kind_of: {declared.__name__} is a class; give an instance, {declared.__name__}().")
    if not isinstance(declared, str):
        given = f"{type(declared).__name__} {declared!r}"
        raise TypeError(f"kind_of: expected a kind such as Category() or its name, got {given}.")
    kind = _kind(declared)
    shorthands = {} if kind is None else kind.shorthands()
    if declared not in shorthands:
        raise ValueError(f"kind_of: there is no kind {declared!r}; the kinds are {', '.join(kind_names())}.")
    return shorthands[declared]


def restore_column(state: Any, tensors: Tensors) -> FittedColumn:
    """Return the fitted column whose `state` and `tensors` these are; anything else is a `ModelFileError`."""
    if not isinstance(state, Mapping) or not isinstance(state.get("name"), str):
        raise ModelFileError("A column of the model is damaged: it has no name; save the model again.")
    rest = dict(state)
    name, called, settings = rest.pop("name"), rest.pop("kind", None), rest.pop("settings", None)
    declared = restore_kind(name, called, settings)
    try:
        return declared.restored(name, rest, tensors)
    except ModelFileError as error:
        raise _damage(name, str(error)) from None


def restore_kind(name: str, called: Any, settings: Any) -> Kind:
    """Return the kind of a column, of what a file says of it."""
    if not isinstance(called, str):
        raise _damage(name, f"its kind is {short(called)}, expected a name")
    kind = _kind(called)
    if kind is None or kind.called != called:
        raise ModelFileError(
            f"The column {name!r} of the model is of the kind {called!r}, expected one of {', '.join(kind_names())}; "
            "install or import the package that registers this kind."
        )
    try:
        if set(settings) != {field.name for field in fields(kind)}:
            raise TypeError
        return kind(**settings)
    except (TypeError, ValueError):
        raise _damage(name, f"its settings are {short(settings)}") from None


def check_facts(state: Mapping[str, Any], **types: type) -> None:
    """Refuse a state that holds anything but facts of these names and types."""
    if {key: type(value) for key, value in state.items()} != types:
        raise ModelFileError(f"has the facts {short(dict(state))}, expected {', '.join(types) or 'none'}")


def _damage(name: str, what: str) -> ModelFileError:
    return ModelFileError(f"The column {name!r} of the model is damaged: {what}; save the model again.")


def _kind(name: str) -> type[Kind] | None:
    """Return the kind of a name, which is imported if it has not been; None if there is none."""
    if name not in _KINDS and (place := _BUILT_IN.get(name) or _installed().get(name)):
        register_kind(place.load())
    return _KINDS.get(name)


@cache
def _installed() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_GROUP)}
