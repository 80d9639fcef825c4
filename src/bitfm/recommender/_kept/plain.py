"""Columns of one number per row: flags, numbers and times."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from bitfm.data.forks import present, with_nulls
from bitfm.data.numbers import parse_number, parse_numbers
from bitfm.data.texts import as_words, one_as_text
from bitfm.data.times import parse_time, parse_times
from bitfm.persist import Tensor, Tensors, check_tensors
from bitfm.recommender._kept.column import KeptColumn

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Flags", "Numbers", "Times"]

_FLAGS = {"true": 1, "1": 1, "yes": 1, "false": 0, "0": 0, "no": 0}
_NEVER = np.iinfo(np.int64).min
_NARROW = ("int8", "int16", "int32")


@dataclass(frozen=True, eq=False)
class _Plain(KeptColumn):
    """One number per row, one of which stands for none.

    Of a file, `values` may be whole numbers of a narrow type, of which the least stands for none.
    """

    none: ClassVar[Any]
    dtype: ClassVar[Any]
    values: npt.NDArray[Any]
    how: str | None = None

    @classmethod
    @abstractmethod
    def parsed(cls, values: pl.Series, how: str | None) -> pl.Series:
        """Return values as numbers, null for none."""

    @classmethod
    def read(cls, name: str, values: pl.Series, how: str | None = None) -> Self:
        return cls(name, cls._array(values, how), how)

    @classmethod
    def _array(cls, values: pl.Series, how: str | None) -> npt.NDArray[Any]:
        import polars as pl

        parsed = cls.parsed(values, how)
        there = present(parsed)
        return np.where(there, parsed.set(pl.Series(~there), 0).to_numpy(), cls.none).astype(cls.dtype)

    def __len__(self) -> int:
        return len(self.values)

    def wide(self, rows: Any = slice(None)) -> npt.NDArray[Any]:
        """Return the values of some rows, or of all."""
        values = self.values[rows]
        if values.dtype == self.dtype:
            return np.asarray(values)
        return np.asarray(np.where(values == np.iinfo(values.dtype).min, self.none, values), self.dtype)

    def only(self, rows: npt.NDArray[Any]) -> Self:
        return replace(self, values=np.where(rows >= 0, self.wide(rows), self.none).astype(self.dtype))

    def replaced(self, rows: npt.NDArray[Any], values: pl.Series, n_rows: int) -> Self:
        all_values = np.full(n_rows, self.none, self.dtype)
        all_values[: len(self.values)] = self.wide()
        all_values[rows] = self._array(values, self.how)
        return replace(self, values=all_values)

    def missing(self) -> npt.NDArray[np.bool_]:
        return np.asarray(self.wide() == self.none)

    def groups(self, rows: npt.NDArray[Any]) -> list[tuple[Any, ...]]:
        none = self.missing()[rows]
        return [() if no else (one,) for no, one in zip(none.tolist(), self.wide(rows).tolist(), strict=True)]

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        values, none = self.wide(), self.missing()
        there = values[~none]
        low, high = there.min(initial=0), there.max(initial=0)
        if (there != np.rint(there)).any() or (np.signbit(there) & (there == 0)).any():
            return {"values": values}
        for name in _NARROW:
            limits = np.iinfo(name)
            if values.dtype.itemsize > limits.dtype.itemsize and limits.min < low and high <= limits.max:
                return {"values": np.where(none, limits.min, np.where(none, 0, values)).astype(name)}
        return {"values": values}

    @classmethod
    def restored(cls, name: str, how: str | None, tensors: Tensors, n_rows: int, file: str) -> Self:
        wide = np.dtype(cls.dtype)
        types = [name for name in _NARROW if np.dtype(name).itemsize < wide.itemsize]
        check_tensors(tensors, {"values": Tensor(" ".join([*types, wide.name]), "rows")}, {"rows": n_rows})
        return cls(name, tensors["values"], how)


class Flags(_Plain):
    """True or false."""

    called = "flag"
    none, dtype = -1, np.int8

    @classmethod
    def parsed(cls, values: pl.Series, how: str | None) -> pl.Series:
        import polars as pl

        if values.dtype == pl.Boolean:
            return values.cast(pl.Int8)
        words = (None if one is None else _FLAGS.get(one.lower()) for one in as_words(values).to_list())
        return pl.Series(values.name, list(words), dtype=pl.Int8)

    def equal(self, value: Any) -> npt.NDArray[np.bool_]:
        flag = _FLAGS.get(str(one_as_text(value)).strip().lower())
        if flag is None:
            raise ValueError(f"{value!r} is neither true nor false")
        return np.asarray(self.values == flag)

    def series(self) -> pl.Series:
        import polars as pl

        return with_nulls(pl.Series(self.name, self.values == 1), self.missing())

    def numbers(self) -> npt.NDArray[np.float64]:
        return np.asarray(np.maximum(self.values, 0), np.float64)


class Numbers(_Plain):
    """Numbers in double precision."""

    called = "number"
    none, dtype = np.nan, np.float64

    @classmethod
    def parsed(cls, values: pl.Series, how: str | None) -> pl.Series:
        return parse_numbers(values, how)

    def missing(self) -> npt.NDArray[np.bool_]:
        return np.asarray(np.isnan(self.wide()))

    def equal(self, value: Any) -> npt.NDArray[np.bool_]:
        number = parse_number(value, self.how)
        if number is None:
            raise ValueError(f"{value!r} is no number")
        return np.asarray(self.wide() == number)

    def series(self) -> pl.Series:
        import polars as pl

        return with_nulls(pl.Series(self.name, self.wide()), self.missing())

    def numbers(self) -> npt.NDArray[np.float64]:
        return np.where(np.isfinite(self.wide()), self.wide(), 0.0)


class Times(_Plain):
    """Seconds since 1970, UTC."""

    called = "time"
    none, dtype = _NEVER, np.int64

    @classmethod
    def parsed(cls, values: pl.Series, how: str | None) -> pl.Series:
        return parse_times(values, how)

    def equal(self, value: Any) -> npt.NDArray[np.bool_]:
        moment = parse_time(value, self.how)
        if moment is None:
            raise ValueError(f"{value!r} is no time")
        return np.asarray(self.wide() == moment)

    def series(self) -> pl.Series:
        import polars as pl

        none = self.missing()
        seconds = pl.Series(self.name, np.where(none, 0, self.wide()) * 1000)
        return with_nulls(seconds.cast(pl.Datetime("ms")), none)
