"""The two towers of a model: the constant and the vector, or code, of rows of its users and of its items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.core import Design, as_reals, side_rows, single_features, unpack_codes
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.parameters.parameters import CodeParameters, FactorParameters, Parameters

__all__ = ["Tower", "TowerRows", "towers"]

_SEVERAL = -2


@dataclass(frozen=True, eq=False)
class TowerRows:
    """Rows of one tower: a score is a user's constant, an item's constant and the product of their vectors.

    A row with a single feature, or none, has a code and a gain for a vector.
    """

    constants: npt.NDArray[np.float64]
    codes: npt.NDArray[np.uint8]  # of the rows with a single feature
    gains: npt.NDArray[np.float32]
    vectors: npt.NDArray[np.float32]  # of the others
    coded: npt.NDArray[np.bool_] | None = None  # which rows have a code; None: all
    scales: npt.NDArray[np.float64] | None = None  # what the items' constants count for, row by row; None: 1
    scored: FeatureTable | None = None  # items whose scores are known already, rows × items

    @classmethod
    def of_vectors(cls, constants: npt.NDArray[np.float64], vectors: npt.NDArray[np.float32]) -> TowerRows:
        """Take rows none of which is a code."""
        n, width = vectors.shape
        no_codes = np.zeros((0, width // 8), np.uint8)
        return cls(constants, no_codes, np.zeros(0, np.float32), vectors, np.zeros(n, bool))

    def __len__(self) -> int:
        return len(self.constants)

    def take(self, rows: npt.NDArray[np.intp]) -> TowerRows:
        """Return some of the rows."""
        coded = np.ones(len(self), bool) if self.coded is None else self.coded
        of_codes, of_vectors, chosen = np.cumsum(coded) - 1, np.cumsum(~coded) - 1, coded[rows]
        places = of_codes[rows[chosen]]
        return TowerRows(
            self.constants[rows],
            self.codes[places],
            self.gains[places],
            self.vectors[of_vectors[rows[~chosen]]],
            None if self.coded is None else chosen,
            None if self.scales is None else self.scales[rows],
            None if self.scored is None else self.scored.take(rows),
        )

    def as_vectors(self) -> npt.NDArray[np.float32]:
        """Return the vectors of all rows."""
        if self.coded is not None and not len(self.codes):
            return self.vectors
        of_codes = unpack_codes(self.codes) * self.gains[:, None]
        if self.coded is None:
            return of_codes
        vectors = np.empty((len(self), self.codes.shape[1] * 8), np.float32)
        vectors[self.coded], vectors[~self.coded] = of_codes, self.vectors
        return vectors


class Tower:
    """Some of a model's blocks, with the part of its parameters that belongs to them. A row's constant has `bias`."""

    def __init__(self, parameters: Parameters, blocks: Sequence[str], bias: float = 0.0) -> None:
        fields = [field for field in parameters.fields if field.block in blocks]
        self.blocks = tuple(blocks)
        self.sizes = {name: [f.size for f in fields if f.block == name] for name in blocks}
        self.bias = bias
        self._parameters = parameters
        self._spans = [slice(field.start, field.stop) for field in fields]
        if all(a.stop == b.start for a, b in pairwise(self._spans)):
            self._spans = [slice(self._spans[0].start, self._spans[-1].stop)]
        self._no_vectors = np.zeros((0, parameters.width), np.float32)

    @cached_property
    def weights(self) -> npt.NDArray[Any]:
        """Weights of its features."""
        return self._part(self._parameters.weights)

    @cached_property
    def codes(self) -> npt.NDArray[np.uint8]:
        """Codes of its features."""
        assert isinstance(self._parameters, CodeParameters)
        return self._part(self._parameters.codes)

    @cached_property
    def gains(self) -> npt.NDArray[np.float32]:
        """Gains of its features."""
        assert isinstance(self._parameters, CodeParameters)
        return self._part(self._parameters.gains)

    @property
    def n_features(self) -> int:
        """Number of its features."""
        return sum(span.stop - span.start for span in self._spans)

    def typical_length(self) -> float:
        """Return about how long a vector is: that of a single feature."""
        if isinstance(self._parameters, CodeParameters):
            gains = self.gains[self.gains > 0]
            return float(np.median(gains) * np.sqrt(self._parameters.bits)) if len(gains) else 0.0
        lengths = np.linalg.norm(self._part(self._parameters.factors), axis=1) / np.sqrt(self._parameters.n_draws)
        lengths = lengths[lengths > 0]
        return float(np.median(lengths)) if len(lengths) else 0.0

    def check(self, what: str, given: Any) -> Blocks:
        """Return rows as the tower's blocks; they are given as Blocks, as a Block, or as indices of ids."""
        names = ", ".join(self.blocks)
        if not isinstance(given, Block | Blocks):
            given = Block(self._ids(what, given), {"id": FeatureTable.eye(self.n_features)})
        if isinstance(given, Block):
            if len(self.blocks) > 1:
                raise ValueError(f"{what}: the model has the blocks {names}; give Blocks with all of them.")
            given = Blocks(**{self.blocks[0]: given})
        if set(given.blocks) != set(self.blocks):
            raise ValueError(f"{what}: expected the blocks {names}, got {', '.join(given.blocks)}.")
        blocks = Blocks(**{name: given.blocks[name] for name in self.blocks})
        for name, block in blocks.blocks.items():
            sizes = [table.n_columns for table in block.tables.values()]
            if sizes != self.sizes[name]:
                raise ValueError(
                    f"{what}: the fields of {name} have {sizes} columns, but the model's have {self.sizes[name]}."
                )
        return blocks

    def rows(self, what: str, given: Any, n_threads: int = 1) -> TowerRows:
        """Return the constant and the vector, or code, of each row; see `check`. Messages say `what` they are."""
        if isinstance(given, Block | Blocks) or isinstance(self._parameters, FactorParameters):
            return self.rows_of(self.check(what, given), n_threads)
        ids = self._ids(what, given)
        if len(ids) == 1:  # a view takes no time, and one query should not
            row = slice(ids[0], ids[0] + 1)
            constants = np.array([float(self.weights[ids[0]]) + self.bias])
            return TowerRows(constants, self.codes[row], self.gains[row], self._no_vectors)
        return TowerRows(
            self.weights.take(ids).astype(np.float64) + self.bias,
            self.codes.take(ids, axis=0),  # many times faster than an index
            self.gains.take(ids),
            self._no_vectors,
        )

    def rows_of(self, blocks: Blocks, n_threads: int = 1) -> TowerRows:
        """Return the constant and the vector, or code, of rows that are known to fit."""
        parameters = self._parameters
        if isinstance(parameters, CodeParameters):
            return self.rows_of_design(blocks.design(), n_threads)
        factors, pairs, n_draws = self._part(parameters.factors), parameters.pairs, parameters.n_draws
        own = FactorParameters(blocks.fields, self.bias, self.weights, factors, pairs, n_draws)
        vectors: Any = np.zeros((len(blocks), own.width), np.float32)
        tables = ((block.rows, table) for block in blocks.blocks.values() for table in block.tables.values())
        for span, (rows, table) in zip(blocks.fields, tables, strict=True):
            vectors += table.sums(own.vectors(np.arange(span.start, span.stop)))[rows]
        return TowerRows.of_vectors(np.asarray(own.scores(blocks.design(), n_threads), np.float64), vectors)

    def rows_of_design(self, design: Design, n_threads: int = 1) -> TowerRows:
        """Return the constant and the vector, or code, of each row of a design."""
        given: Any = design
        weights, across = as_reals(self.weights), self._parameters.across
        features, amounts = single_features(given, self.gains, n_threads)
        if not self.n_features:  # all were removed
            n = len(features)
            return TowerRows.of_vectors(np.full(n, self.bias), np.zeros((n, self._parameters.width), np.float32))
        coded = features != _SEVERAL
        everything = bool(coded.all())
        constants, vectors = side_rows(
            given, self.bias, weights, self.codes, self.gains, across, not everything, n_threads
        )
        vectors = vectors.reshape(-1, self._parameters.width)
        if not coded.any():
            return TowerRows(constants, self.codes[:0], self.gains[:0], vectors, coded)
        codes = self.codes.take(np.maximum(features[coded], 0), axis=0)
        codes[amounts[coded] < 0] ^= 0xFF  # a negative x turns the code around
        if everything:
            return TowerRows(constants, codes, np.abs(amounts), self._no_vectors)
        return TowerRows(constants, codes, np.abs(amounts[coded]), vectors[~coded], coded)

    def _ids(self, what: str, given: Any) -> npt.NDArray[np.int32]:
        if [len(sizes) for sizes in self.sizes.values()] != [1]:
            fields = ", ".join(f"{name} with {len(sizes)} fields" for name, sizes in self.sizes.items())
            raise TypeError(
                f"{what}: the model has {fields}, so indices alone are not enough; give a Block, or Blocks, of rows."
            )
        return check_rows(what, np.atleast_1d(given), self.n_features)

    def _part(self, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return the tower's part of an array, as a view, even into a file, if it is in one piece."""
        spans = self._spans
        return array[spans[0]] if len(spans) == 1 else np.concatenate([array[span] for span in spans])


def towers(parameters: Parameters, block: str | None = None) -> tuple[Tower, Tower]:
    """Return the users' tower, context included, and the items', which is ``"item"`` by default, or the last block.

    Examples
    --------
    >>> from bitfm import BiasModel, Block, Blocks
    >>> import numpy as np
    >>> X = Blocks(user=Block([0, 0, 1], {"id": np.eye(2)}), item=Block([0, 1, 0], {"id": np.eye(2)}))
    >>> users, items = towers(BiasModel().fit(X, [5, 4, 3]).parameters_)
    >>> users.blocks, items.blocks
    (('user',), ('item',))
    """
    names = list(dict.fromkeys(field.block for field in parameters.fields))
    if block is None:
        block = "item" if "item" in names else names[-1]
    if block not in names:
        raise ValueError(f"block: the model has no block {block!r}, but {', '.join(names)}.")
    if len(names) < 2:
        raise ValueError(
            "the model was fitted on a single block, so there is no tower of users and no tower of items; fit on "
            "Blocks, or give fields= with a plain matrix."
        )
    users = Tower(parameters, [name for name in names if name != block], float(parameters.bias))
    return users, Tower(parameters, [block])
