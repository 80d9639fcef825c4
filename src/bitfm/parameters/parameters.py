"""What a fit yields: the parameters of a factorization machine, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.core import Design, Design32, as_reals, predict_codes, predict_reals, unpack_codes
from bitfm.data.blocks import FieldSpan

__all__ = ["CodeParameters", "FactorParameters", "Parameters"]


class _OfFields:
    """What both kinds of parameters tell of their features."""

    fields: tuple[FieldSpan, ...]
    weights: npt.NDArray[Any]
    pairs: str

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.weights)

    @property
    def across(self) -> bool:
        """Whether only pairs of features from different blocks count."""
        return self.pairs == "across"

    @cached_property
    def sizes(self) -> dict[tuple[str, str], int]:
        """Number of features by block and field."""
        return {(field.block, field.name): field.size for field in self.fields}


@dataclass(frozen=True, eq=False)
class CodeParameters(_OfFields):
    """A code of bits, a gain and a weight for every feature.

    The score of a row x is bias + Σ w x + Σ g_i g_j ⟨b_i, b_j⟩ x_i x_j over pairs of features.

    Parameters
    ----------
    fields : tuple of FieldSpan
        The layout of the features.
    bias : float
    weights : array, one per feature
    codes : array of uint8, features × bits / 8
    gains : array of float32, one per feature
    pairs : {"all", "across"}
        Whether all pairs of features count, or only those from different blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from bitfm.data import FieldSpan
    >>> fields = (FieldSpan("user", "id", 0, 2), FieldSpan("item", "id", 2, 3))
    >>> codes, gains = np.array([[0], [255], [255]], np.uint8), np.full(3, 0.5, np.float32)
    >>> parameters = CodeParameters(fields, 3.5, np.zeros(3, np.float32), codes, gains, "across")
    >>> parameters.bits, parameters.n_features
    (8, 3)
    >>> parameters.vectors(np.array([1]))
    array([[0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]], dtype=float32)
    """

    fields: tuple[FieldSpan, ...]
    bias: float
    weights: npt.NDArray[Any]
    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]
    pairs: str

    @property
    def bits(self) -> int:
        """Length of the codes."""
        return int(self.codes.shape[1]) * 8

    width = bits

    def vectors(self, features: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return gain × code of some features."""
        found = unpack_codes(np.asarray(self.codes[features]))
        found *= np.asarray(self.gains[features])[:, None]
        return found

    def scores(self, design: Design, n_threads: int = 1) -> npt.NDArray[Any]:
        """Return the score of each interaction of a design; see `Blocks.design`."""
        design_: Any = design
        weights = as_reals(self.weights)
        return predict_codes(design_, self.bias, weights, self.codes, self.gains, self.across, n_threads)


@dataclass(frozen=True, eq=False)
class FactorParameters(_OfFields):
    """A vector of real numbers and a weight for every feature; no factors at all is a linear model.

    Parameters
    ----------
    fields, bias, weights, pairs
        As of `CodeParameters`.
    factors : array, features × (draws · rank)
    n_draws : int
        How many draws from a posterior the factors are of, side by side. The score is their mean.
    """

    fields: tuple[FieldSpan, ...]
    bias: float
    weights: npt.NDArray[Any]
    factors: npt.NDArray[Any]
    pairs: str
    n_draws: int = 1

    @property
    def width(self) -> int:
        """Length of the vectors: a multiple of 8, with zeros at the end."""
        return max(-(-int(self.factors.shape[1]) // 8) * 8, 8)

    def vectors(self, features: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
        """Return the vectors of some features, whose products are what the model adds for a pair."""
        own = np.asarray(self.factors[features], np.float32)
        found = np.zeros((len(own), self.width), np.float32)
        found[:, : own.shape[1]] = own if self.n_draws == 1 else own / np.float32(np.sqrt(self.n_draws))
        return found

    def scores(self, design: Design, n_threads: int = 1) -> npt.NDArray[Any]:
        """Return the score of each interaction of a design; see `Blocks.design`."""
        design_: Any = design
        n, dtype = self.n_draws, np.float32 if isinstance(design, Design32) else np.float64
        # Draws side by side are one model, whose score is the sum of theirs.
        weights = self.weights if n == 1 else self.weights * self.weights.dtype.type(n)
        weights = np.ascontiguousarray(weights, dtype)
        found = predict_reals(design_, self.bias * n, weights, self.factors, self.across, n_threads)
        return found if n == 1 else found / n


Parameters: TypeAlias = CodeParameters | FactorParameters
