"""Vectors of users and items, and codes of items, for other search engines."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import unpack_codes
from bitfm.html import table

__all__ = ["Codes", "Vectors"]

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


class Codes(NamedTuple):
    """Ids, and one code, gain and bias for each, which `Recommender.item_codes` returns.

    A user's score of an item is gain × ⟨signs, v⟩ + bias × a + c. The item's signs are the bits of its code, +1 for 1
    and −1 for 0, the lowest of the first byte first. The user has v, and last a and c, in a row of
    ``Recommender.user_vectors(codes=True)``.

    Examples
    --------
    >>> import numpy as np
    >>> Codes(["a"], np.array([[5]], np.uint8), np.ones(1, np.float32), np.zeros(1, np.float32)).vectors()
    array([[ 1., -1.,  1., -1., -1., -1., -1., -1.,  0.,  1.]], dtype=float32)
    """

    ids: list[Any]
    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float32]

    def vectors(self) -> npt.NDArray[np.float32]:
        """Return gain × signs, the bias and 1 of each, whose product with a user's row is the score."""
        columns = (self.gains[:, None] * unpack_codes(self.codes), self.biases[:, None], np.ones((len(self.ids), 1)))
        return np.hstack(columns).astype(np.float32, copy=False)

    def __repr__(self) -> str:
        return f"Codes({len(self.ids)} ids, {self.codes.shape[1] * 8} bits each)"

    def _repr_html_(self) -> str:
        first = zip(self.ids[:_SHOWN], self.codes, self.gains.tolist(), self.biases.tolist(), strict=False)
        shown = [(str(of), code.tobytes().hex(), gain, bias) for of, code, gain, bias in first]
        more = [("…",)] if len(shown) < len(self.ids) else []
        return table([*shown, *more], caption=repr(self))
