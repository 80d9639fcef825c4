"""One of several values, or several of them: a country, a weekday; genres, tags."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.data.columns.kinds import FittedColumn, Inferred, Kind, check_facts, register_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.forks import few, need_threads
from bitfm.data.formats import BLANK
from bitfm.data.lists import texts_in
from bitfm.data.texts import as_text, as_words, flattened
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError
from bitfm.persist import Tensors
from bitfm.validation import check_integer

if TYPE_CHECKING:
    from bitfm.data.columns.infer import ObservedColumn

_KEEP_ALL = 10_000  # distinct values; of more than these, those that occur once are left out
_SEPARATORS = "|;,"
_WRAPPED = rf"^{BLANK}*\[(.*)\]{BLANK}*$"
_WRITTEN = 0.95  # of the values must be lists in JSON, or as Python prints them
_LISTS = (list, tuple, set, frozenset, np.ndarray)
_GOOD_SHARE = 0.05  # of the values must have the separator
_REPEATED = 0.75  # of the values in lists must occur in several rows
_MOST_WORDS = 3.0  # of a listed value, on average: more is prose


class _Categories(Kind):
    """What one category per row and several have in common."""

    max_categories: int

    def __post_init__(self) -> None:
        check_integer(f"{type(self).__name__}: max_categories", self.max_categories, 1)

    def choose(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose among the non-null strings of a series."""
        need_threads(f"choosing the categories of column {name!r}", "choose them before the fork")
        counts = pl.DataFrame({"value": values.drop_nulls()}).group_by("value").len()
        distinct = len(counts)
        if distinct > _KEEP_ALL:
            counts = counts.filter(pl.col("len") > 1)
        several = len(counts)
        if several > self.max_categories:
            counts = counts.sort("len", "value", descending=[True, False]).head(self.max_categories)
        return _FittedCategory(name, self, Vocabulary.of(counts["value"]), distinct - several, several - len(counts))

    def restored(self, name: str, state: Mapping[str, Any], tensors: Tensors) -> FittedColumn:
        """Return the fitted column of what it saved."""
        check_facts(state, once=int, rare=int)
        if min(state.values()) < 0:
            raise ModelFileError(f"has left out {state['once']} and {state['rare']} categories")
        return _FittedCategory(name, self, Vocabulary.from_tensors(tensors), **state)


@register_kind
@dataclass(frozen=True)
class Category(_Categories):
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
        return self.choose(name, as_words(values))


@register_kind
@dataclass(frozen=True)
class MultiCategory(_Categories):
    """Several values per row, such as genres or tags: one feature per value, of those that `Category` would keep.

    A row with n of them has 1/√n in each, so that a long list weighs no more than a short one.

    Parameters
    ----------
    separator : str, optional
        What stands between the values of a string; by default the one of ``|``, ``;`` and ``,`` that fits. A string
        such as ``["old, used", "red"]``, a list in JSON, is that list in any case.
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
        super().__post_init__()

    @classmethod
    def infer(cls, column: ObservedColumn) -> Inferred | None:
        """Take lists, and strings that hold some."""
        if column.has_lists:
            return Inferred(cls(), "lists")
        if column.has_strings and has_written_lists(column.informative):
            return Inferred(cls(), "lists in brackets")
        separator = find_separator(column.sample) if column.has_strings else None
        return Inferred(cls(separator), f"lists separated by {separator!r}") if separator is not None else None

    def fit(self, name: str, values: pl.Series) -> FittedColumn:
        """Choose the categories, and the separator if it was not declared."""
        separator = self.separator or find_separator(values)
        _, listed = exploded(values, separator)
        return replace(self, separator=separator).choose(name, as_words(listed))


@dataclass(eq=False)
class _FittedCategory(FittedColumn):
    """1 in the feature of a row's category, or 1/√n in those of its n known categories."""

    known: Vocabulary
    once: int  # so many categories that occur once are left out
    rare: int  # so many others that are rare

    @property
    def width(self) -> int:
        return len(self.known)

    def transform(self, values: pl.Series) -> FeatureTable:
        if not isinstance(self.kind, MultiCategory):
            return FeatureTable.one_hot(self.known.indices(as_words(values)), self.width)
        rows, listed = exploded(values, self.kind.separator)
        indices = self.known.indices(as_words(listed))
        known = np.flatnonzero(indices >= 0)
        return FeatureTable.unit_rows(rows[known], indices[known], (len(values), self.width))

    def label(self, feature: int) -> str:
        return self.known[feature]

    def facts(self) -> str:
        facts = f"{self.width:,} {'category' if self.width == 1 else 'categories'}"
        facts += f", the {self.once:,} that occur once left out" if self.once else ""
        facts += f", the {self.rare:,} rarest left out" if self.rare else ""
        separator = getattr(self.kind, "separator", None)
        return facts if separator is None else f"{facts}, split at {separator!r}"

    def only(self, features: NDArray[Any]) -> FittedColumn:
        return replace(self, known=self.known.only(features))

    def state(self) -> dict[str, Any]:
        return super().state() | {"once": self.once, "rare": self.rare}

    def tensors(self) -> Tensors:
        return self.known.tensors()


def exploded(values: pl.Series, separator: str | None) -> tuple[NDArray[np.int64], pl.Series]:
    """Return the row of each listed value, and these values; a value that is no list counts as a list of one."""
    if values.dtype == pl.Object:
        values = _python_lists(values, separator)
    if isinstance(values.dtype, pl.Array):
        values = values.cast(pl.List(values.dtype.inner))
    if not isinstance(values.dtype, pl.List):
        text = as_text(values)
        written = _written_lists(text)
        if separator is None and written is None:
            return np.arange(len(text)), text
        if few(len(text)) or written is not None:
            told = written or [None] * len(text)
            return _flat([_listed(*both, separator) for both in zip(text.to_list(), told, strict=True)], pl.String())
        values = _unwrapped(text).str.split(separator)
    elif few(len(values)):
        return _flat([one or [] for one in values.to_list()], values.dtype.inner)
    lengths = values.list.len().fill_null(0).to_numpy()
    return np.repeat(np.arange(len(values)), lengths), flattened(values)


def _flat(lists: list[list[Any]], dtype: Any) -> tuple[NDArray[np.int64], pl.Series]:
    rows = np.repeat(np.arange(len(lists)), np.array([len(one) for one in lists], np.int64))
    return rows, pl.Series([value for one in lists for value in one], dtype=dtype)


def sample_of(values: pl.Series) -> pl.Series:
    """Return some twenty thousand of the values, evenly spread, which tell what the others look like."""
    return values.gather_every(max(1, len(values) // 20_000))


def has_lists(values: pl.Series) -> bool:
    """Tell whether a column holds lists."""
    if values.dtype == pl.Object:
        return any(isinstance(value, _LISTS) for value in values.to_list())
    return values.dtype in (pl.List, pl.Array)


def has_written_lists(text: pl.Series) -> bool:
    """Tell whether nearly all strings are lists in JSON, or as Python prints them."""
    lists = _written_lists(text) or []
    return sum(one is not None for one in lists) >= _WRITTEN * len(text) > 0


def find_separator(values: pl.Series) -> str | None:
    """Return what separates the values of a string column that holds lists, or None if it holds none."""
    if values.dtype != pl.String:
        return None
    words = as_words(sample_of(values)).drop_nulls()
    if has_written_lists(words):
        return None
    text = _unwrapped(words)
    return next((separator for separator in _SEPARATORS if _separates(separator, text)), None)


def _unwrapped(text: pl.Series) -> pl.Series:
    """Return lists that were written with brackets and quotes, such as ``['old', 'red']``, without them."""
    inner = text.str.extract(_WRAPPED, 1)
    return inner.str.replace_all(r"[\"']", "").zip_with(inner.is_not_null(), text)


def _written_lists(text: pl.Series) -> list[list[str] | None] | None:
    """Return the lists that strings stand for, None for any other; or None if there is no list at all."""
    if few(len(text)):
        suspected = any(one is not None and one.lstrip().startswith("[") for one in text.to_list())
    else:
        suspected = bool(text.str.contains(r"^\s*\[").any())
    if not suspected:
        return None
    known: dict[str, list[str] | None] = {}
    for one in text.to_list():
        if one is not None and one not in known:
            known[one] = texts_in(one)
    lists = [None if one is None else known[one] for one in text.to_list()]
    return lists if any(one is not None for one in lists) else None


def _listed(text: str | None, written: list[str] | None, separator: str | None) -> list[str]:
    """Return the values of one string, which may be a list."""
    if text is None or written is not None:
        return written or []
    return [text] if separator is None else _split(text, separator)


def _split(text: str, separator: str) -> list[str]:
    """Return the values of one list that is a string, whether it has brackets and quotes or not."""
    inner = re.fullmatch(_WRAPPED, text)
    return (text if inner is None else re.sub(r"[\"']", "", inner[1])).split(separator)


def _separates(separator: str, text: pl.Series) -> bool:
    """Tell lists from prose and from numbers such as 1,000,000: their values are short and repeat across rows."""
    digits_aside = text.str.replace_all(r"\d,\d{3}\b", "0") if separator == "," else text
    lists = text.filter(digits_aside.str.contains(separator, literal=True))
    if len(lists) < _GOOD_SHARE * len(text) or len(lists) < 2:
        return False
    row, token = exploded(lists.str.split(separator), None)
    listed = pl.DataFrame({"row": row, "token": token})
    listed = listed.with_columns(pl.col("token").str.strip_chars()).filter(pl.col("token") != "")
    if listed.is_empty() or listed["token"].str.count_matches(r"\S+").mean() > _MOST_WORDS:  # type: ignore[operator]
        return False
    rows = listed.unique().group_by("token").len()
    times = rows["len"].to_numpy()
    # Fixed phrases with a comma, "Health, Beauty", have more parts than there are phrases.
    return bool(times[times > 1].sum() >= _REPEATED * times.sum()) and len(rows) <= lists.n_unique()


def _python_lists(values: pl.Series, separator: str | None) -> pl.Series:
    def listed(value: Any) -> list[Any]:
        if isinstance(value, _LISTS):
            return list(value.ravel().tolist() if isinstance(value, np.ndarray) else value)
        return value.split(separator) if separator and isinstance(value, str) else [value]

    lists = [as_text(pl.Series(listed(value), dtype=pl.Object)).to_list() for value in values.to_list()]
    return pl.Series(values.name, lists, dtype=pl.List(pl.String))
