"""Distinct strings, each with a number."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bitfm.data._packed import PackedStrings
from bitfm.errors import ModelFileError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Vocabulary"]

_FEW = 16  # so many lookups take less time than to set up a join
_ENTRIES_A_LOOKUP = 50  # a join looks at every entry; a lookup takes as long as so many of them


class Vocabulary:
    """Distinct strings, numbered 0, 1, ...: the ids of users or items, or the categories of a column.

    The strings are packed in two arrays, the way a model file holds them. Those of the first call are sorted, so a
    lookup is a binary search in the file and opening it builds nothing. Strings that were added later follow them, so
    numbers never change. Make one with `of`.

    Examples
    --------
    >>> import polars as pl
    >>> shelf = Vocabulary.of(pl.Series(["pear", "apple", None, "pear"]))
    >>> len(shelf), shelf[0], shelf.find("pear"), shelf.find("fig")
    (2, 'apple', 1, -1)
    >>> more = shelf.extended(pl.Series(["fig", "apple", "banana"]))
    >>> more.numbers(pl.Series(["banana", None, "apple", "cherry"]))
    array([ 3, -1,  0, -1], dtype=int32)
    >>> more.take([3, -1, 0]).to_list()
    ['banana', None, 'apple']
    """

    def __init__(self, ordered: PackedStrings, added: PackedStrings) -> None:
        self._ordered = ordered
        self._added = added

    @classmethod
    def of(cls, values: pl.Series) -> Vocabulary:
        """Return the distinct strings of a String series, sorted by their UTF-8 bytes; nulls are left out.

        Raises
        ------
        TypeError
            If the series holds anything but strings.
        """
        strings = _strings(values).drop_nulls().unique().sort()
        vocabulary = cls(PackedStrings.of(strings), _nothing())
        vocabulary._series = strings
        return vocabulary

    def __len__(self) -> int:
        return len(self._ordered) + len(self._added)

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self):
            raise IndexError(f"Vocabulary: there is no string {number}; there are {len(self)}, counted from 0.")
        if number < len(self._ordered):
            return self._ordered.text(number)
        return self._added.text(number - len(self._ordered))

    def __contains__(self, text: str) -> bool:
        return self.find(text) >= 0

    def find(self, text: str) -> int:
        """Return the number of a string, or -1 if it is not there."""
        try:
            wanted = text.encode()
        except UnicodeEncodeError:  # a lone surrogate, which no table holds
            return -1
        number = self._ordered.search(wanted)
        return number if number >= 0 else self._added_numbers.get(text, -1)

    def numbers(self, values: pl.Series) -> NDArray[np.int32]:
        """Return the number of each string of a String series, -1 where it is null or unknown.

        Raises
        ------
        TypeError
            If the series holds anything but strings.
        """
        strings = _strings(values)
        if len(strings) <= max(_FEW, len(self) // _ENTRIES_A_LOOKUP):
            found = (-1 if text is None else self.find(text) for text in strings)
            return np.fromiter(found, np.int32, len(strings))
        return self._joined(strings)

    def take(self, numbers: Any) -> pl.Series:
        """Return the strings of some numbers as a String series, null for -1.

        Raises
        ------
        IndexError
            If a number is below -1 or too large.
        """
        import polars as pl

        wanted = np.asarray(numbers, np.int64)
        if wanted.size and not (wanted.min() >= -1 and wanted.max() < len(self)):
            raise IndexError(
                f"Vocabulary: asked for the strings {wanted.min()} to {wanted.max()}; there are {len(self)}, "
                "counted from 0, and -1 stands for none."
            )
        if len(wanted) <= max(_FEW, len(self) // _ENTRIES_A_LOOKUP):
            return pl.Series([None if number < 0 else self[number] for number in wanted.tolist()], dtype=pl.String)
        places = pl.Series(wanted)
        return self._series.gather(places.set(places < 0, None)).alias("")

    def extended(self, values: pl.Series) -> Vocabulary:
        """Return a vocabulary with the unknown strings of a String series after these, as they first appear.

        The old numbers stay, and the sorted strings are shared, not copied.

        Raises
        ------
        TypeError
            If the series holds anything but strings.
        """
        strings = _strings(values).drop_nulls().unique(maintain_order=True)
        unknown = strings.filter(self.numbers(strings) < 0)
        return Vocabulary(self._ordered, self._added.followed_by(PackedStrings.of(unknown)))

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a model file keeps.

        Returns
        -------
        dict
            ``bytes`` (uint8) and ``offsets`` (int64), as `bitfm.persist.pack_strings` makes them, and ``sorted``
            (int64, a single number): how many of the first strings are sorted.
        """
        packed = self._ordered.followed_by(self._added)
        return {
            "bytes": packed.data,
            "offsets": packed.offsets,
            "sorted": np.array(len(self._ordered), np.int64),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """Take the arrays of `tensors` as a vocabulary, without a copy.

        Raises
        ------
        ModelFileError
            If the arrays are anything else, as in a damaged file.
        """
        if set(tensors) != {"bytes", "offsets", "sorted"}:
            raise _damage(f"it consists of {sorted(map(str, tensors))}, expected bytes, offsets and sorted")
        data, offsets, ordered = tensors["bytes"], tensors["offsets"], tensors["sorted"]
        if data.dtype != np.uint8 or data.ndim != 1:
            raise _damage(f"its bytes are {data.ndim}-dimensional {data.dtype}, expected 1-dimensional uint8")
        if offsets.dtype != np.int64 or offsets.ndim != 1 or not 0 < offsets.size < 2**31:
            raise _damage(f"its offsets are {offsets.dtype} of shape {offsets.shape}, expected a list of int64")
        if offsets[0] != 0 or offsets[-1] != data.size or np.any(offsets[:-1] > offsets[1:]):
            raise _damage(f"its offsets do not rise from 0 to {data.size}")
        if ordered.dtype != np.int64 or ordered.shape != () or not 0 <= ordered < offsets.size:
            raise _damage(f"it does not say how many of its {offsets.size - 1} strings are sorted")
        packed = PackedStrings(data, offsets)
        return cls(packed.part(0, int(ordered)), packed.part(int(ordered), len(packed)))

    @cached_property
    def _series(self) -> pl.Series:
        return self._ordered.followed_by(self._added).series()

    @cached_property
    def _added_numbers(self) -> dict[str, int]:
        return {text: number for number, text in enumerate(self._added.strings(), len(self._ordered))}

    def _joined(self, strings: pl.Series) -> NDArray[np.int32]:
        import polars as pl

        entries = pl.DataFrame({"text": self._series, "number": np.arange(len(self), dtype=np.int32)})
        asked = pl.DataFrame({"text": strings})
        found = asked.join(entries, on="text", how="left", maintain_order="left")
        if len(found) != len(asked):  # a damaged file may hold a string twice
            once = entries.unique("text", keep="first")
            found = asked.join(once, on="text", how="left", maintain_order="left")
        return found["number"].fill_null(-1).to_numpy().astype(np.int32, copy=False)


def _nothing() -> PackedStrings:
    return PackedStrings(np.zeros(0, np.uint8), np.zeros(1, np.int64))


def _strings(values: pl.Series) -> pl.Series:
    import polars as pl

    if values.dtype != pl.String:
        raise TypeError(f"Vocabulary: expected a series of strings, got {values.dtype}; cast it with as_text.")
    return values


def _damage(what: str) -> ModelFileError:
    return ModelFileError(f"A vocabulary of the model is damaged: {what}; save the model again.")
