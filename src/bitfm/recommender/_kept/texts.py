"""Columns of texts: one category per row, or lists of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bitfm.data.columns.category import exploded
from bitfm.data.feature_table import FeatureTable
from bitfm.data.texts import as_words, one_as_text
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, Tensors, below, check_tensors, damage, narrow_type, put
from bitfm.recommender._kept.column import KeptColumn
from bitfm.recommender._titles import Titles

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Categories", "Lists"]

_TABLE = "table."


@dataclass(frozen=True, eq=False)
class Categories(KeptColumn):
    """One text per row."""

    called: ClassVar[str] = "category"
    texts: Titles
    file: str | None = None
    how: ClassVar[None] = None

    @classmethod
    def read(cls, name: str, values: pl.Series, how: str | None = None) -> Self:
        words = as_words(values)
        known = Vocabulary.of(words)
        return cls(name, Titles.of(name, known, known.indices(words)))

    def __len__(self) -> int:
        return len(self.texts.numbers)

    def only(self, rows: npt.NDArray[Any]) -> Self:
        whole = replace(self.texts, numbers=np.append(self.texts.numbers, self.texts.numbers.dtype.type(0)))
        try:
            return replace(self, texts=whole.only(rows))  # the last is that of -1
        except IndexError as error:
            raise self._damage(error) from None

    def replaced(self, rows: npt.NDArray[Any], values: pl.Series, n_rows: int) -> Self:
        return replace(self, texts=self.texts.replaced(rows, as_words(values), n_rows))

    def equal(self, value: Any) -> npt.NDArray[np.bool_] | None:
        index = _index(self.texts.texts, value)
        return None if index < 0 else np.asarray(self.texts.numbers == index + 1)

    def missing(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.texts.numbers == 0)

    def series(self) -> pl.Series:
        try:
            return self.texts.take(np.arange(len(self))).alias(self.name)
        except IndexError as error:
            raise self._damage(error) from None

    def _damage(self, error: IndexError) -> ModelFileError:
        return damage(self.file or "", f"the column {self.name!r} is damaged: {error}")

    def groups(self, rows: npt.NDArray[Any]) -> list[tuple[Any, ...]]:
        return [() if number == 0 else (number,) for number in self.texts.numbers[rows].tolist()]

    def examples(self) -> str:
        return _examples(self.texts.texts)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        return self.texts.tensors()

    @classmethod
    def restored(cls, name: str, how: str | None, tensors: Tensors, n_rows: int, file: str) -> Self:
        own = dict(tensors)
        numbers = {name: own.pop(name) for name in ("numbers",) if name in own}
        texts = Vocabulary.from_tensors(own)
        check_tensors(numbers, {"numbers": Tensor(narrow_type(len(texts)), "rows")}, {"rows": n_rows})
        return cls(name, Titles(name, texts, numbers["numbers"]), file)


@dataclass(frozen=True, eq=False)
class Lists(KeptColumn):
    """Any number of texts per row."""

    called: ClassVar[str] = "list"
    known: Vocabulary
    table: FeatureTable
    how: str | None = None

    @classmethod
    def read(cls, name: str, values: pl.Series, how: str | None = None) -> Self:
        listed = as_words(exploded(values, how)[1])
        known = Vocabulary.of(listed)
        return cls(name, known, _table(known, values, how), how)

    def __len__(self) -> int:
        return len(self.table)

    def only(self, rows: npt.NDArray[Any]) -> Self:
        table = self.table.take(rows)
        used = np.flatnonzero(table.occurring(np.ones(len(rows), bool)))
        return replace(self, known=self.known.only(used), table=table.with_columns(used))

    def replaced(self, rows: npt.NDArray[Any], values: pl.Series, n_rows: int) -> Self:
        known = self.known.extended(as_words(exploded(values, self.how)[1]))
        wider = replace(self.table, n_columns=len(known))
        table = wider.replaced(rows, _table(known, values, self.how)) if len(rows) else wider
        return replace(self, known=known, table=table.padded(n_rows))

    def equal(self, value: Any) -> npt.NDArray[np.bool_] | None:
        index = _index(self.known, value)
        if index < 0:
            return None
        rows, values = self._entries
        found = np.zeros(len(self), bool)
        found[rows[values == index]] = True
        return found

    @cached_property
    def _entries(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.int32]]:
        indptr, indices, _ = self.table.arrays()
        return np.repeat(np.arange(len(self)), np.diff(indptr)), indices

    def missing(self) -> npt.NDArray[np.bool_]:
        indptr, _, _ = self.table.arrays()
        return np.asarray(np.diff(indptr) == 0)

    def series(self) -> pl.Series:
        import polars as pl

        indptr, indices, _ = self.table.arrays()
        texts = self.known.take(indices).to_list()
        lists = [texts[begin:end] for begin, end in pairwise(indptr.tolist())]
        return pl.Series(self.name, lists, dtype=pl.List(pl.String))

    def groups(self, rows: npt.NDArray[Any]) -> list[tuple[Any, ...]]:
        indptr, indices, _ = self.table.take(rows).arrays()
        return [tuple(indices[begin:end].tolist()) for begin, end in pairwise(indptr.tolist())]

    def examples(self) -> str:
        return _examples(self.known)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        return {**self.known.tensors(), **put(_TABLE, self.table.tensors())}

    @classmethod
    def restored(cls, name: str, how: str | None, tensors: Tensors, n_rows: int, file: str) -> Self:
        arrays = below(tensors, _TABLE)
        known = Vocabulary.from_tensors({name: array for name, array in tensors.items() if not name.startswith(_TABLE)})
        return cls(name, known, FeatureTable.from_tensors(n_rows, len(known), arrays, file), how)


def _index(known: Vocabulary, value: Any) -> int:
    text = one_as_text(value)
    return -1 if text is None else known.find(text.strip())


def _examples(known: Vocabulary) -> str:
    some = [repr(known[index]) for index in range(min(3, len(known)))]
    return ", ".join(some) + (", …" if len(known) > len(some) else "")


def _table(known: Vocabulary, values: pl.Series, how: str | None) -> FeatureTable:
    rows, listed = exploded(values, how)
    indices = known.indices(as_words(listed))
    there = indices >= 0
    return FeatureTable.unit_rows(rows[there], indices[there], (len(values), len(known)))
