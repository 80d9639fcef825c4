"""One half of a model: what rows of its users, or of its items, amount to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm import _core
from bitfm.core import as_reals, unpack_codes
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable, check_rows

if TYPE_CHECKING:
    from bitfm.models.codes import CodeModel

__all__ = ["Half", "Rows", "halves", "pair_blocks"]

_SEVERAL = -2


@dataclass(frozen=True)
class Rows:
    """A score is a user's constant, an item's constant and the product of their vectors.

    A row with a single feature, or none, has a code and a gain for a vector.
    """

    constants: npt.NDArray[np.float64]
    codes: npt.NDArray[np.uint8]  # of the rows with a single feature
    gains: npt.NDArray[np.float32]
    vectors: npt.NDArray[np.float32]  # of the others
    coded: npt.NDArray[np.bool_] | None = None  # which rows have a code; None: all

    def __len__(self) -> int:
        return len(self.constants)

    def as_vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors of all rows."""
        of_codes = unpack_codes(self.codes) * self.gains[:, None]
        if self.coded is None:
            return of_codes
        vectors = np.empty((len(self), self.codes.shape[1] * 8), np.float32)
        vectors[self.coded], vectors[~self.coded] = of_codes, self.vectors
        return vectors


class Half:
    """Some of a model's blocks, with the part of its parameters that belongs to them."""

    def __init__(self, model: CodeModel, names: tuple[str, ...], bias: float) -> None:
        fields = [field for field in model.fields_ if field.block in names]
        self.names = names
        self.sizes = {name: [f.size for f in fields if f.block == name] for name in names}
        self.bias = bias
        self.cross = model.pairs_ == "across"
        self._spans = [slice(field.start, field.stop) for field in fields]
        if all(a.stop == b.start for a, b in pairwise(self._spans)):
            self._spans = [slice(self._spans[0].start, self._spans[-1].stop)]
        self._arrays = model.codes_, model.gains_, model.weights_
        self._no_vectors = np.zeros((0, model.codes_.shape[1] * 8), np.float32)

    @cached_property
    def codes(self) -> npt.NDArray[np.uint8]:
        """Codes of its features."""
        return _parts(self._arrays[0], self._spans)

    @cached_property
    def gains(self) -> npt.NDArray[np.float32]:
        """Gains of its features."""
        return _parts(self._arrays[1], self._spans)

    @cached_property
    def weights(self) -> npt.NDArray[np.float32]:
        """Weights of its features."""
        return _parts(self._arrays[2], self._spans)

    @property
    def n_features(self) -> int:
        """Number of its features."""
        return sum(span.stop - span.start for span in self._spans)

    @property
    def bare(self) -> bool:
        """Whether a row can be told by a number alone: one field."""
        return len(self.names) == 1 and len(self.sizes[self.names[0]]) == 1

    def blocks(self, what: str, given: Any) -> Blocks:
        """Check rows given as Blocks, or as a Block if there is but one."""
        if isinstance(given, Block):
            if len(self.names) > 1:
                raise ValueError(
                    f"{what}: the model has the blocks {_listed(self.names)}; give Blocks with all of them."
                )
            given = Blocks(**{self.names[0]: given})
        if not isinstance(given, Blocks):
            raise TypeError(f"{what}: expected Blocks, a Block or row numbers, got {type(given).__name__}.")
        if set(given.blocks) != set(self.names):
            raise ValueError(f"{what}: expected the blocks {_listed(self.names)}, got {_listed(given.blocks)}.")
        blocks = Blocks(**{name: given.blocks[name] for name in self.names})
        for name, block in blocks.blocks.items():
            sizes = [table.n_columns for table in block.tables.values()]
            if sizes != self.sizes[name]:
                raise ValueError(
                    f"{what}: the fields of {name} have {sizes} columns, but the model's have {self.sizes[name]}."
                )
        return blocks

    def as_blocks(self, what: str, given: Any) -> Blocks:
        """Return rows, which may be numbers of bare ids, as blocks."""
        if isinstance(given, Block | Blocks):
            return self.blocks(what, given)
        ids = self._ids(what, given)
        return self.blocks(what, Block(ids, {"id": FeatureTable.eye(self.n_features)}))

    def rows(self, what: str, given: Any, n_threads: int) -> Rows:
        """Return what the rows amount to."""
        if isinstance(given, Block | Blocks):
            return self._rows_of_blocks(self.blocks(what, given), n_threads)
        ids = self._ids(what, given)
        if len(ids) == 1:  # a view takes no time, and one query should not
            row = slice(ids[0], ids[0] + 1)
            constants = np.array([float(self.weights[ids[0]]) + self.bias])
            return Rows(constants, self.codes[row], self.gains[row], self._no_vectors)
        return Rows(
            self.weights.take(ids).astype(np.float64) + self.bias,
            self.codes.take(ids, axis=0),  # many times faster than an index
            self.gains.take(ids),
            self._no_vectors,
        )

    def _ids(self, what: str, given: Any) -> npt.NDArray[np.int32]:
        if not self.bare:
            fields = _listed(f"{name} with {len(sizes)} fields" for name, sizes in self.sizes.items())
            raise TypeError(
                f"{what}: the model has {fields}, so numbers do not tell; give a Block, or Blocks, of rows."
            )
        return check_rows(what, np.atleast_1d(given), self.n_features)

    def _rows_of_blocks(self, blocks: Blocks, n_threads: int) -> Rows:
        dtype = blocks.dtype
        design: Any = blocks.design(dtype)
        weights = as_reals(self.weights)
        constants = _core.predict_codes(design, self.bias, weights, self.codes, self.gains, self.cross, n_threads)
        features, amounts = _core.single_features(design, self.gains, n_threads)
        coded = features != _SEVERAL
        codes = self.codes.take(np.maximum(features[coded], 0), axis=0)
        codes[amounts[coded] < 0] ^= 0xFF  # a negative x turns the code around
        if coded.any():
            design = blocks[~coded].design(dtype)
        vectors = _core.side_vectors(design, self.codes, self.gains, n_threads)
        return Rows(
            np.asarray(constants, np.float64),
            codes,
            np.abs(amounts[coded]),
            vectors.reshape(int((~coded).sum()), self.codes.shape[1] * 8),
            None if coded.all() else coded,
        )


def halves(model: CodeModel, block: str | None) -> tuple[Half, Half]:
    """Return the users' half of a model, context included, and the items', by default ``"item"`` or the last block."""
    names = list(dict.fromkeys(field.block for field in model.fields_))
    if block is None:
        block = "item" if "item" in names else names[-1]
    if block not in names:
        raise ValueError(f"block: the model has no block {block!r}, but {_listed(names)}.")
    if len(names) < 2:
        raise ValueError(
            "the model was fitted on a single block, so users and items cannot be told apart; fit on Blocks, or give "
            "fields= with a plain matrix."
        )
    users = Half(model, tuple(name for name in names if name != block), float(model.bias_))
    return users, Half(model, (block,), 0.0)


def pair_blocks(model: CodeModel, users: Any, items: Any, block: str | None) -> Blocks:
    """Put users and items together in the model's order."""
    of_users, of_items = halves(model, block)
    given = of_users.as_blocks("users", users).blocks | of_items.as_blocks("items", items).blocks
    return Blocks(**{name: given[name] for name in dict.fromkeys(field.block for field in model.fields_)})


def _parts(array: npt.NDArray[Any], spans: list[slice]) -> npt.NDArray[Any]:
    """Return the parts of an array, as a view, even into a file, if it is one part."""
    return array[spans[0]] if len(spans) == 1 else np.concatenate([array[span] for span in spans])


def _listed(names: Any) -> str:
    return ", ".join(names)
