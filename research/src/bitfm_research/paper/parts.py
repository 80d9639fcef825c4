"""The score of a model of codes, taken apart: what its linear terms say, and what its codes add."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from bitfm.data.blocks import Blocks
from bitfm.models import CodeModel
from bitfm.parameters import FactorParameters

__all__ = ["Parts", "parts_of_scores"]


class Parts(NamedTuple):
    """Scores of the same interactions: `linear` and `codes` add up to those of the model."""

    linear: npt.NDArray[np.float64]  # bias and weights
    codes: npt.NDArray[np.float64]  # pairs of features


def parts_of_scores(model: CodeModel, blocks: Blocks, scores: npt.NDArray[np.float64]) -> Parts:
    """Take the scores of a fitted model apart.

    Parameters
    ----------
    model : CodeModel
    blocks : Blocks
        The interactions.
    scores : array
        What the model predicts for them.

    Examples
    --------
    >>> from bitfm import DiscreteFM
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(60, 40, 900)
    >>> X = shop.blocks()
    >>> model = DiscreteFM(8).fit(X, shop.ratings["rating"])
    >>> parts = parts_of_scores(model, X, model.predict(X))
    >>> np.allclose(parts.linear, model.bias_ + X.to_csr() @ model.weights_, atol=1e-5)
    True
    """
    nothing = np.zeros((len(model.weights_), 0), np.float32)
    alone = FactorParameters(model.fields_, model.bias_, model.weights_, nothing, "all")
    linear = np.asarray(alone.scores(blocks.design()), np.float64)
    return Parts(linear, scores - linear)
