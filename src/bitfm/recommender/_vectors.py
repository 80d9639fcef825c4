"""Vectors of users and items for other search engines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.html import table

__all__ = ["Vectors"]

_SHOWN = 5  # rows and numbers, in a notebook


class Vectors(NamedTuple):
    """Ids, and one vector for each, which `Recommender.item_vectors` and `Recommender.user_vectors` return.

    Examples
    --------
    >>> import numpy as np
    >>> Vectors(["a", "b"], np.eye(2, dtype=np.float32))
    Vectors(2 ids, 2 numbers each)
    """

    ids: list[Any]
    vectors: npt.NDArray[np.float32]

    def __repr__(self) -> str:
        return f"Vectors({len(self.ids)} ids, {self.vectors.shape[1]} numbers each)"

    def _repr_html_(self) -> str:
        rows, columns = (min(size, _SHOWN) for size in self.vectors.shape)
        shown = [
            (str(of), *numbers.tolist(), "…" if columns < self.vectors.shape[1] else "")
            for of, numbers in zip(self.ids[:rows], self.vectors[:rows, :columns], strict=True)
        ]
        more = [("…",)] if rows < len(self.ids) else []
        return table([*shown, *more], caption=repr(self))
