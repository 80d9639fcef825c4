"""Ratings of items by users, where each is a bare id: what methods without features learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.models.base import Floats

__all__ = ["IdRatings"]


@dataclass(frozen=True)
class IdRatings:
    """Who rated what, and how."""

    users: npt.NDArray[np.int32]  # one per interaction, as are items and y
    items: npt.NDArray[np.int32]
    y: Floats
    n_users: int
    n_items: int
    user_columns: slice  # where the ids are among all the features
    item_columns: slice
    names: tuple[str, str]  # of the users' and of the items' block
    blocks: Blocks  # what the ratings were given as, with whatever other fields there are

    @classmethod
    def of(cls, blocks: Blocks, y: Floats, model: str) -> IdRatings:
        """Find the ids: there must be a block of users and one of items, each with one field of ids."""
        names = list(blocks.blocks)
        if len(names) != 2:
            raise ValueError(
                f"{model} needs a block of users and one of items, but X has {len(names)} block(s); "
                "give Blocks(user=..., item=...), or a matrix with fields=[n_users, n_items]."
            )
        item = "item" if "item" in names else names[-1]  # as for an index
        user = next(name for name in names if name != item)
        columns = {name: _id_columns(blocks, name, model) for name in names}
        return cls(
            blocks.blocks[user].rows,
            blocks.blocks[item].rows,
            np.asarray(y, np.float64),
            blocks.blocks[user].n_rows,
            blocks.blocks[item].n_rows,
            columns[user],
            columns[item],
            (user, item),
            blocks,
        )

    def bare(self) -> Blocks:
        """Return the ids without other fields."""
        user, item = self.names
        return Blocks(
            **{
                user: Block(self.users, {"id": FeatureTable.eye(self.n_users)}),
                item: Block(self.items, {"id": FeatureTable.eye(self.n_items)}),
            }
        )

    def scaled(self, low: float, high: float) -> Floats:
        """Return the ratings stretched from their own range to another; constant ones are in its middle."""
        least, most = float(self.y.min()), float(self.y.max())
        middle, half = least / 2 + most / 2, most / 2 - least / 2
        share = (self.y - middle) / half if half > 0 else np.zeros_like(self.y)
        return (low + high) / 2 + share * ((high - low) / 2)

    def matrix(self, values: Floats) -> sp.csr_matrix:
        """Return values of the interactions as users × items, with 0 elsewhere; where there are several, their mean."""
        shape = self.n_users, self.n_items
        total = sp.csr_matrix((values, (self.users, self.items)), shape=shape)
        times = sp.csr_matrix((np.ones(len(values)), (self.users, self.items)), shape=shape)
        total.data /= times.data  # both have summed the same entries, in the same order
        return total


def _id_columns(blocks: Blocks, name: str, model: str) -> slice:
    tables = blocks.blocks[name].tables
    ids = [field for field, table in tables.items() if table.identity]
    if len(ids) > 1 and "id" in ids:
        ids = ["id"]
    if len(ids) != 1:
        raise ValueError(
            f"{model} gives every id a code, but {len(ids)} of the fields of {name!r} ({', '.join(tables)}) are "
            "identities; give one, such as 'id': scipy.sparse.identity(n)."
        )
    span: Any = next(f for f in blocks.fields if (f.block, f.name) == (name, ids[0]))
    return slice(span.start, span.stop)
