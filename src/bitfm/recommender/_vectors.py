"""Vectors of users and items for other search engines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Vectors"]


class Vectors(NamedTuple):
    """Ids, and one vector for each, which `Recommender.item_vectors` and `Recommender.user_vectors` return.

    Examples
    --------
    >>> import numpy as np
    >>> Vectors(["a", "b"], np.eye(2, dtype=np.float32)).vectors.shape
    (2, 2)
    """

    ids: list[Any]
    vectors: npt.NDArray[np.float32]
