"""Distinct strings, each with an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from bitfm.core import find_strings
from bitfm.data.forks import few, gathered
from bitfm.errors import ModelFileError
from bitfm.persist import Tensor, Tensors, check_tensors, narrow_type, narrowed
from bitfm.validation import MOST_ROWS, check_count

_NAMES = ("bytes", "offsets", "sorted")
_FEW = 16  # so many strings are found in less time than it takes to make a series of all
_ENTRIES_PER_LOOKUP = 10  # a join looks at every entry; a lookup takes as long as so many of them
_AT_ONCE = 1 << 20  # strings that are Python objects, or one joined string, at the same time


@dataclass(frozen=True)
class PackedStrings:
    """Strings without a Python object each: string ``i`` is ``data[offsets[i]:offsets[i + 1]]``."""

    data: NDArray[np.uint8]
    offsets: NDArray[Any]  # whole numbers of any type, as a file has them

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, strings: pl.Series) -> PackedStrings:
        """Pack a String series without nulls."""
        if few(len(strings)):
            encoded = [text.encode() for text in strings.to_list()]
            ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
            return cls(np.frombuffer(b"".join(encoded), np.uint8), ends)
        offsets = np.append(0, np.cumsum(strings.str.len_bytes().to_numpy(), dtype=np.int64))
        data = np.empty(offsets[-1], np.uint8)
        for begin in range(0, len(strings), _AT_ONCE):
            part = strings[begin : begin + _AT_ONCE]
            joined = part.str.join("").item().encode()
            data[offsets[begin] : offsets[begin + len(part)]] = np.frombuffer(joined, np.uint8)
        return cls(data, offsets)

    def text(self, index: int) -> str:
        """Return one string; bytes that are not UTF-8, as a damaged file may hold, are replaced."""
        return self.data[self.offsets[index] : self.offsets[index + 1]].tobytes().decode(errors="replace")

    def part(self, begin: int, end: int) -> PackedStrings:
        """Return a range of the strings; the bytes are shared."""
        first, last = int(self.offsets[begin]), int(self.offsets[end])
        offsets = self.offsets[begin : end + 1]
        return PackedStrings(self.data[first:last], offsets - first if first else offsets)

    def followed_by(self, others: PackedStrings) -> PackedStrings:
        """Return these strings and then the others."""
        if not len(others):
            return self
        offsets = np.concatenate([self.offsets, others.offsets[1:].astype(np.int64) + int(self.offsets[-1])])
        return PackedStrings(np.concatenate([self.data, others.data]), offsets)

    def only(self, kept: NDArray[Any]) -> PackedStrings:
        """Return some of the strings, given by rising indices, and no byte of the others."""
        if len(kept) == len(self):
            return self
        lengths: NDArray[Any] = np.diff(self.offsets.astype(np.int64))
        chosen = np.zeros(len(self), bool)
        chosen[kept] = True
        return PackedStrings(self.data[np.repeat(chosen, lengths)], np.append(0, np.cumsum(lengths[kept])))

    def series(self) -> pl.Series:
        """Return the strings as a Polars series."""
        # Python's strings go as soon as their part is made: there are never many at a time.
        parts = [
            pl.Series(list(self.part(begin, min(begin + _AT_ONCE, len(self))).strings()), dtype=pl.String)
            for begin in range(0, len(self), _AT_ONCE)
        ]
        return pl.concat(parts).rechunk() if parts else pl.Series([], dtype=pl.String)

    def strings(self) -> Iterator[str]:
        """Yield the strings."""
        raw = self.data.tobytes()
        for begin, end in pairwise(self.offsets.tolist()):
            yield raw[begin:end].decode(errors="replace")


class Vocabulary:
    """Distinct strings with indices 0, 1, ...: the ids of users or items, or the categories of a column.

    The strings are packed in two arrays, as in a model file. Those of the first call are sorted, so a lookup is a
    binary search in the file and opening it builds nothing. Strings that are added later follow them, so indices never
    change but by `only`. Make one with `of`.

    Examples
    --------
    >>> shelf = Vocabulary.of(pl.Series(["pear", "apple", None, "pear"]))
    >>> len(shelf), shelf[0], shelf.find("pear"), shelf.find("fig")
    (2, 'apple', 1, -1)
    >>> more = shelf.extended(pl.Series(["fig", "apple", "banana"]))
    >>> more.indices(pl.Series(["banana", None, "apple", "cherry"]))
    array([ 3, -1,  0, -1], dtype=int32)
    >>> more.take([3, -1, 0]).to_list()
    ['banana', None, 'apple']
    >>> less = more.only(np.array([1, 3]))
    >>> less.take([0, 1]).to_list(), less.find("apple")
    (['pear', 'banana'], -1)
    """

    def __init__(self, ordered: PackedStrings, added: PackedStrings) -> None:
        self._ordered, self._added = ordered, added
        check_count("a vocabulary", len(self), "strings")

    @classmethod
    def of(cls, values: pl.Series) -> Vocabulary:
        """Return the distinct strings of a String series, sorted by their UTF-8 bytes; nulls are left out."""
        strings = _strings(values)
        if few(len(strings)):
            texts = {text for text in strings.to_list() if text is not None}
            strings = pl.Series(sorted(texts), dtype=pl.String)  # Python's order is that of the bytes
        else:
            strings = strings.drop_nulls().unique().sort()
        vocabulary = cls(PackedStrings.of(strings), PackedStrings(np.zeros(0, np.uint8), np.zeros(1, np.int64)))
        vocabulary._series = strings
        return vocabulary

    def __len__(self) -> int:
        return len(self._ordered) + len(self._added)

    def __getitem__(self, index: int) -> str:
        if not 0 <= index < len(self):
            raise IndexError(f"Vocabulary: there is no string {index}; there are {len(self)}, counted from 0.")
        n = len(self._ordered)
        return self._ordered.text(index) if index < n else self._added.text(index - n)

    def find(self, text: str) -> int:
        """Return the index of a string, or -1 if it is not there."""
        return self.find_all([text])[0]

    def find_all(self, texts: list[str | None]) -> list[int]:
        """Return the indices of a few strings, -1 for one that is None or not there."""
        found = find_strings(self._ordered.data, self._ordered.offsets, texts)
        if len(self._added):
            added: dict[str | None, int] = self._added_indices
            found = [added.get(text, -1) if index < 0 else index for text, index in zip(texts, found, strict=True)]
        return found

    def indices(self, values: pl.Series) -> NDArray[np.int32]:
        """Return the index of each string of a String series, -1 where it is null or unknown."""
        strings = _strings(values)
        if len(strings) <= len(self) // _ENTRIES_PER_LOOKUP or few(len(strings)):
            return np.array(self.find_all(strings.to_list()), np.int32)
        entries = pl.DataFrame({"text": self._series, "index": np.arange(len(self), dtype=np.int32)})
        texts = pl.DataFrame({"text": strings})
        joined = texts.join(entries, on="text", how="left", maintain_order="left")
        if len(joined) != len(texts):  # a damaged file may hold a string twice
            joined = texts.join(entries.unique("text", keep="first"), on="text", how="left", maintain_order="left")
        return joined["index"].fill_null(-1).to_numpy().astype(np.int32, copy=False)

    def texts(self, indices: Sequence[int]) -> list[str | None]:
        """Return the strings of a few indices, None for a negative one; an index must not be too large."""
        n, data, offsets = len(self._ordered), self._ordered.data.data, self._ordered.offsets.data
        return [
            (bytes(data[offsets[i] : offsets[i + 1]]).decode(errors="replace") if i < n else self._added.text(i - n))
            if i >= 0
            else None
            for i in indices
        ]

    def take(self, indices: Any) -> pl.Series:
        """Return the strings of some indices as a String series, null for -1."""
        taken = np.asarray(indices, np.int64)
        if taken.size and not (taken.min() >= -1 and taken.max() < len(self)):
            raise IndexError(
                f"Vocabulary: the indices go from {taken.min()} to {taken.max()}; there are {len(self)} strings, "
                "counted from 0, and -1 stands for none."
            )
        if len(taken) <= max(_FEW, len(self) // _ENTRIES_PER_LOOKUP):
            return pl.Series(self.texts(taken.tolist()), dtype=pl.String)
        return gathered(self._series, taken).alias("")

    def extended(self, values: pl.Series) -> Vocabulary:
        """Return a vocabulary with the unknown strings of a String series after these, which keep their indices."""
        unknown = _strings(values).filter(self.indices(values) < 0)
        indices, first = np.unique(Vocabulary.of(unknown).indices(unknown), return_index=True)
        new = PackedStrings.of(unknown[np.sort(first[indices >= 0])])
        return Vocabulary(self._ordered, self._added.followed_by(new))

    def only(self, kept: NDArray[Any]) -> Vocabulary:
        """Return some of the strings, given by rising indices; they are numbered anew in the same order."""
        if len(kept) == len(self):
            return self
        n = len(self._ordered)
        first = int(np.searchsorted(kept, n))
        vocabulary = Vocabulary(self._ordered.only(kept[:first]), self._added.only(kept[first:] - n))
        if "_series" in self.__dict__:  # it takes less time to choose from it than to make it again
            vocabulary._series = gathered(self._series, kept)
        return vocabulary

    def tensors(self) -> dict[str, NDArray[Any]]:
        """Return the arrays that a model file keeps; ``sorted`` is how many of the first strings are sorted."""
        packed = self._ordered.followed_by(self._added)
        offsets = narrowed(packed.offsets, len(packed.data))
        return {"bytes": packed.data, "offsets": offsets, "sorted": np.array(len(self._ordered), np.int64)}

    @classmethod
    def from_tensors(cls, tensors: Tensors) -> Vocabulary:
        """Take the arrays of `tensors` as a vocabulary, without a copy; anything else is a `ModelFileError`."""
        if "offsets" in tensors and (n := tensors["offsets"].size - 1) > MOST_ROWS:
            raise ModelFileError(f"has a vocabulary of {n:,} strings, expected at most {MOST_ROWS:,}")
        n_bytes = tensors["bytes"].size if "bytes" in tensors else 0
        starts = Tensor(narrow_type(n_bytes), "offsets")
        declared = {"bytes": Tensor("uint8", "bytes"), "offsets": starts, "sorted": Tensor("int64")}
        check_tensors(tensors, declared, prefix="vocabulary.")
        data, offsets, ordered = (tensors[name] for name in _NAMES)
        n = offsets.size - 1
        if n < 0 or offsets[0] != 0 or offsets[-1] != data.size or np.any(offsets[:-1] > offsets[1:]):
            raise ModelFileError(f"has a vocabulary whose offsets do not rise from 0 to {data.size}")
        if not 0 <= ordered <= n:
            raise ModelFileError(f"has a vocabulary that does not say how many of its {n} strings are sorted")
        packed = PackedStrings(data, offsets)
        return cls(packed.part(0, int(ordered)), packed.part(int(ordered), len(packed)))

    @cached_property
    def _series(self) -> pl.Series:
        return self._ordered.followed_by(self._added).series()

    @cached_property
    def _added_indices(self) -> dict[str | None, int]:
        return {text: index for index, text in enumerate(self._added.strings(), len(self._ordered))}


def _strings(values: pl.Series) -> pl.Series:
    if values.dtype != pl.String:
        raise TypeError(f"Vocabulary: expected a series of strings, got {values.dtype}; cast it with as_text.")
    return values
