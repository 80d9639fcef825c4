"""A score taken apart."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Blocks, FieldSpan
from bitfm.html import Markup, bar, details, table
from bitfm.parameters.parameters import Parameters

_MOST_PAIRS = 1000
_ENTRIES_AT_ONCE = 1 << 22
_MOST_SHOWN = 10

__all__ = ["Explanation", "FeatureShare", "PairShare", "explain"]


@dataclass(frozen=True)
class FeatureShare:
    """What one feature adds by its weight."""

    feature: int
    name: str
    value: float
    contribution: float


@dataclass(frozen=True)
class PairShare:
    """What two features add together."""

    features: tuple[int, int]
    names: tuple[str, str]
    contribution: float


@dataclass(frozen=True, repr=False)
class Explanation:
    """One interaction's score: bias + Σ features + Σ pairs, each list with the largest contribution first.

    Attributes
    ----------
    bias : float
    features : list of FeatureShare
    pairs : list of PairShare
        The thousand that contribute most, if there are more.
    n_other_pairs : int
        How many there are beside these, which add `other_pairs` together.
    """

    bias: float
    features: list[FeatureShare]
    pairs: list[PairShare]
    n_other_pairs: int = 0
    other_pairs: float = 0.0
    totals: dict[str, float] = field(default_factory=dict)

    def by_field(self) -> dict[str, float]:
        """Return the sums of the contributions by field, and by pair of fields; the largest first.

        Examples
        --------
        >>> from bitfm import DistilledFM
        >>> from bitfm.datasets import make_bookshop
        >>> shop = make_bookshop(200, 100, 4000)
        >>> X, y = shop.blocks(), shop.ratings["rating"]
        >>> why = DistilledFM(bits=32).fit(X, y).explain(X[0])
        >>> "reader.id with book.author" in why.by_field()
        True
        """
        return dict(sorted(self.totals.items(), key=_largest_first))

    @property
    def score(self) -> float:
        """The sum of all contributions: what `predict` returns, up to rounding."""
        shares = sum(f.contribution for f in self.features) + sum(p.contribution for p in self.pairs)
        return self.bias + shares + self.other_pairs

    def __repr__(self) -> str:
        return f"Explanation(score {self.score:.4f}, {len(self.features)} features, {self._n_pairs} pairs)"

    def __str__(self) -> str:
        features, pairs = self._named()
        shown = [part for part in features[:_MOST_SHOWN] + pairs[:_MOST_SHOWN] if abs(part[1]) >= 5e-5]
        left = len(features) + self._n_pairs - len(shown)
        lines = [
            f"score {self.score:.4f} = bias {self.bias:.4f}",
            *(f"  {share:+.4f}  {name}" for name, share in shown),
        ]
        return "\n".join(lines + ([f"  ... and {left} more"] if left else []))

    def _repr_html_(self) -> str:
        features, pairs = self._named()
        shown = sorted(features + pairs, key=_largest_first)[:_MOST_SHOWN]
        left = len(features) + self._n_pairs - len(shown)
        others = self.score - self.bias - sum(share for _, share in shown)
        rows = [*shown, (f"{left:,} more, together", others)] if left else shown
        parts = _shares_html(rows, f"score {self.score:.4f} = bias {self.bias:.4f} and what these add:")
        by_field = _shares_html(list(self.by_field().items())[:_MOST_SHOWN])
        return parts + (details("The largest sums by field", by_field) if self.totals else "")

    @property
    def _n_pairs(self) -> int:
        return len(self.pairs) + self.n_other_pairs

    def _named(self) -> tuple[list[tuple[str, float]], list[tuple[str, float]]]:
        """Return the contributions of features, and of pairs, by what people call them."""
        amounts = ("" if f.value == 1 else f" = {f.value:g}" for f in self.features)
        features = [(f"{f.name}{x}", f.contribution) for f, x in zip(self.features, amounts, strict=True)]
        return features, [(f"{p.names[0]} with {p.names[1]}", p.contribution) for p in self.pairs]


def _largest_first(share: tuple[str, float]) -> float:
    return -abs(share[1])


def _shares_html(shares: list[tuple[str, float]], caption: str = "") -> Markup:
    """Return contributions as a table, with a bar beside each."""
    largest = max((abs(share) for _, share in shares), default=0.0)
    return table([(name, share, bar(share, largest)) for name, share in shares], caption=caption, floats="+.4f")


def explain(
    parameters: Parameters, blocks: Blocks, name_of: Callable[[FieldSpan, int], str] = FieldSpan.label
) -> Explanation:
    """Take the score of one interaction apart; `name_of` names a column of a field.

    A vector, which is the columns of a dense field, counts as one feature, unless its columns make pairs themselves.
    """
    fields, across = parameters.fields, parameters.across
    index, x = _features_of(blocks)
    starts = np.array([span.start for span in fields])
    owner = np.searchsorted(starts, index, side="right") - 1
    linear = np.asarray(parameters.weights[index], np.float64) * x
    scaled = parameters.vectors(index).astype(np.float64) * x[:, None]
    tables = [table for block in blocks.blocks.values() for table in block.tables.values()]
    whole = np.array([across and table.is_dense for table in tables])[owner]
    if whole.any():
        first = np.flatnonzero(~whole | (np.diff(owner, prepend=-1) > 0))
        linear, scaled = np.add.reduceat(linear, first), np.add.reduceat(scaled, first, axis=0)
        index, x, owner, whole = index[first], np.where(whole, 1.0, x)[first], owner[first], whole[first]
    names = [
        f"{fields[f].block}.{fields[f].name}" if together else name_of(fields[f], int(i) - fields[f].start)
        for f, i, together in zip(owner, index, whole, strict=True)
    ]
    features = [
        FeatureShare(int(i), name, float(value), float(share))
        for i, name, value, share in zip(index, names, x, linear, strict=True)
    ]
    features.sort(key=lambda f: -abs(f.contribution))
    found = _Pairs(owner, [f"{span.block}.{span.name}" for span in fields])
    for f, share in zip(owner, linear, strict=True):
        found.totals[found.labels[f]] += float(share)
    block_of = np.array([span.block for span in fields], dtype=object)[owner]
    for rows, columns in _parts(block_of, across):
        shares = np.einsum("ik,jk->ij", scaled[rows], scaled[columns])  # not by BLAS, whose sums depend on threads
        found.add(rows.start, columns.start, shares)
    first, second, largest = found.largest()
    pairs = [
        PairShare((int(index[a]), int(index[b])), (names[a], names[b]), float(share))
        for a, b, share in zip(first, second, largest, strict=True)
    ]
    others = found.sum - float(largest.sum()) if found.count > len(pairs) else 0.0
    return Explanation(float(parameters.bias), features, pairs, found.count - len(pairs), others, dict(found.totals))


def _features_of(blocks: Blocks) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return the features of a single interaction and their values, in order."""
    tables = [(block, table) for block in blocks.blocks.values() for table in block.tables.values()]
    parts = [table.take(block.rows).arrays() for block, table in tables]
    index = [columns.astype(np.int64) + span.start for (_, columns, _), span in zip(parts, blocks.fields, strict=True)]
    found, values = np.concatenate(index), np.concatenate([x.astype(np.float64) for _, _, x in parts])
    order = np.argsort(found, kind="stable")
    return found[order], values[order]


def _parts(blocks: npt.NDArray[Any], across: bool) -> Iterator[tuple[slice, slice]]:
    """Yield rows and columns of the matrix of pairs: those above the diagonal, of different blocks if `across`."""
    n, begin = len(blocks), 0
    while begin < n:
        stop = n
        if across:
            stop = begin + int(np.argmax(np.append(blocks[begin:] != blocks[begin], True)))
        step = max(1, _ENTRIES_AT_ONCE // max(n - begin, 1))
        for first in range(begin, stop, step):
            last = min(first + step, stop)
            columns = slice(stop if across else first, n)
            if columns.start < n:
                yield slice(first, last), columns
        begin = stop


class _Pairs:
    """Contributions of pairs: the largest, and sums by field."""

    def __init__(self, owner: npt.NDArray[Any], labels: list[str]) -> None:
        self._owner, self.labels = owner, labels
        self.count, self.sum = 0, 0.0
        self.totals: dict[str, float] = defaultdict(float)  # by field, or two
        nothing = np.zeros(0, np.intp)
        self._kept = [(nothing, nothing, np.zeros(0))]

    def add(self, first_row: int, first_column: int, shares: npt.NDArray[np.float64]) -> None:
        """Take a part of the matrix of pairs; what is not above its diagonal does not count."""
        rows, columns = np.arange(shares.shape[0]) + first_row, np.arange(shares.shape[1]) + first_column
        pairs = np.flatnonzero(rows[:, None] < columns)
        shares = np.where(rows[:, None] < columns, shares, 0)
        self.count += len(pairs)
        self.sum += float(shares.sum())
        (a, at), (b, to) = (np.unique(self._owner[part], return_index=True) for part in (rows, columns))
        sums = np.add.reduceat(np.add.reduceat(shares, at, axis=0), to, axis=1)
        for f, row in zip(a, sums, strict=True):
            for g, share in zip(b, row, strict=True):
                if share:
                    self.totals[f"{self.labels[f]} with {self.labels[g]}"] += float(share)
        values = shares.ravel()[pairs]
        if len(pairs) > _MOST_PAIRS:
            best = np.argpartition(-np.abs(values), _MOST_PAIRS - 1)[:_MOST_PAIRS]
            pairs, values = pairs[best], values[best]
        self._kept.append((pairs // len(columns) + first_row, pairs % len(columns) + first_column, values))

    def largest(self) -> tuple[npt.NDArray[Any], npt.NDArray[Any], npt.NDArray[np.float64]]:
        """Return the pairs that contribute most, and what they do."""
        first, second, shares = (np.concatenate(parts) for parts in zip(*self._kept, strict=True))
        order = np.lexsort((second, first, -np.abs(shares)))[:_MOST_PAIRS]
        return first[order], second[order], shares[order]
