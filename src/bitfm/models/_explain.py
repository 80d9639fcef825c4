"""A score taken apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import FieldSpan

__all__ = ["Explanation", "FeatureShare", "PairShare"]


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


@dataclass(frozen=True)
class Explanation:
    """One interaction's score: bias + Σ features + Σ pairs, each list with the largest contribution first."""

    bias: float
    features: list[FeatureShare]
    pairs: list[PairShare]

    @property
    def score(self) -> float:
        """The sum of all contributions: what `predict` returns, up to rounding."""
        return self.bias + sum(f.contribution for f in self.features) + sum(p.contribution for p in self.pairs)

    def __str__(self) -> str:
        lines = [f"score {self.score:.4f} = bias {self.bias:.4f}"]
        shown_features = [f for f in self.features[:10] if abs(f.contribution) >= 5e-5]
        shown_pairs = [p for p in self.pairs[:10] if abs(p.contribution) >= 5e-5]
        lines += [f"  {f.contribution:+.4f}  {f.name} = {f.value:g}" for f in shown_features]
        lines += [f"  {p.contribution:+.4f}  {p.names[0]} with {p.names[1]}" for p in shown_pairs]
        left = len(self.features) + len(self.pairs) - len(shown_features) - len(shown_pairs)
        return "\n".join(lines + ([f"  ... and {left} more"] if left else []))


def explain_row(
    row: Any,
    fields: tuple[FieldSpan, ...],
    bias: float,
    weights: npt.NDArray[Any],
    factors_of: Callable[[npt.NDArray[Any]], npt.NDArray[Any]],
    cross: bool,
) -> Explanation:
    """Compute the contributions of one CSR row."""
    index = np.asarray(row.indices)
    x = np.asarray(row.data, np.float64)
    starts = np.array([field.start for field in fields])
    owner = np.searchsorted(starts, index, side="right") - 1
    names = [fields[f].label(int(i) - fields[f].start) for f, i in zip(owner, index, strict=True)]
    linear = np.asarray(weights[index], np.float64) * x
    features = [
        FeatureShare(int(i), name, float(value), float(share))
        for i, name, value, share in zip(index, names, x, linear, strict=True)
    ]
    scaled = factors_of(index).astype(np.float64) * x[:, None]
    first, second = np.triu_indices(len(index), 1)
    if cross:
        block = np.array([fields[f].block for f in owner], dtype=object)
        apart = block[first] != block[second]
        first, second = first[apart], second[apart]
    shares = np.einsum("ij,ij->i", scaled[first], scaled[second])
    order = np.argsort(-np.abs(shares), kind="stable")
    pairs = [
        PairShare((int(index[a]), int(index[b])), (names[a], names[b]), float(share))
        for a, b, share in zip(first[order], second[order], shares[order], strict=True)
    ]
    features.sort(key=lambda f: -abs(f.contribution))
    return Explanation(float(bias), features, pairs)
