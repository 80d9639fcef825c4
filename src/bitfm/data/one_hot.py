"""One-hot and many-hot tables: of values, of lists, of what users have rated; matrices that are nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable, check_rows
from bitfm.validation import MOST_ROWS, check_integer


def one_hot(values: npt.ArrayLike) -> FeatureTable:
    """Return one 1 per row, in the column of its value; columns are the distinct values, sorted."""
    distinct, column = np.unique(np.asarray(values), return_inverse=True)
    return FeatureTable.one_hot(column, len(distinct))


def many_hot(lists: Iterable[Iterable[Any]], min_rows: int = 1) -> FeatureTable:
    """Return one row of unit length per list; columns are the sorted values of at least ``min_rows`` lists."""
    rows = [set(values) for values in lists]
    counts = Counter(value for values in rows for value in values)
    column = {value: j for j, value in enumerate(sorted(v for v, n in counts.items() if n >= min_rows))}
    on = [(i, column[value]) for i, values in enumerate(rows) for value in values if value in column]
    pairs = np.array(on, np.int64).reshape(-1, 2)
    return FeatureTable.unit_rows(pairs[:, 0], pairs[:, 1], (len(rows), len(column)))


def history(
    users: npt.ArrayLike, items: npt.ArrayLike, n_users: int | None = None, n_items: int | None = None
) -> FeatureTable:
    """Return the items each user has rated, a users × items table of float32.

    A row is scaled by 1/√n for its n distinct items, so that its squares sum to 1 however many there are; a user
    without interactions has an empty row. Give the *training* interactions only, or the table reveals the test part.

    Parameters
    ----------
    users, items : array of int
        The user and the item of each training interaction, counted from 0. A repeated pair counts once.
    n_users, n_items : int, optional
        Number of rows and columns, needed where the last ones may have no training interaction.

    Examples
    --------
    >>> history(users=[0, 0, 0, 0, 2], items=[0, 1, 2, 3, 1]).toarray()
    array([[0.5, 0.5, 0.5, 0.5],
           [0. , 0. , 0. , 0. ],
           [0. , 1. , 0. , 0. ]], dtype=float32)
    """
    user_rows, item_rows, shape = _checked("history", users, items, n_users, n_items)
    return FeatureTable.unit_rows(user_rows, item_rows, shape)


def raters(
    users: npt.ArrayLike, items: npt.ArrayLike, n_users: int | None = None, n_items: int | None = None
) -> FeatureTable:
    """Return the users who have rated each item, an items × users table: `history` for items, scaled alike.

    Examples
    --------
    >>> raters(users=[0, 1, 2, 3, 1], items=[0, 0, 0, 0, 1], n_items=3).toarray()
    array([[0.5, 0.5, 0.5, 0.5],
           [0. , 1. , 0. , 0. ],
           [0. , 0. , 0. , 0. ]], dtype=float32)
    """
    user_rows, item_rows, shape = _checked("raters", users, items, n_users, n_items)
    return FeatureTable.unit_rows(item_rows, user_rows, shape[::-1])


def split_one_hot(X: Blocks) -> Blocks:
    """Recognise a plain matrix that is nothing but one-hot fields, such as a libFM file of ids.

    Kept as bare ids it trains many times faster, and the model is the same.
    """
    block = next(iter(X.blocks.values()))
    table = next(iter(block.tables.values()))
    if len(X.blocks) != 1 or len(block.tables) != 1 or table.identity or table.n_rows != len(block):
        return X
    indptr, indices, values = table.arrays()
    per_row = len(indices) // max(table.n_rows, 1)
    if per_row < 2 or not (np.diff(indptr) == per_row).all() or not (values == 1).all():
        return X
    ids = indices.reshape(table.n_rows, per_row)
    starts, ends = ids.min(axis=0), ids.max(axis=0)
    if not (ends[:-1] < starts[1:]).all():
        return X
    edges = [0, *(int(s) for s in starts[1:]), table.n_columns]
    fields = {
        f"field{j}": Block(ids[block.rows, j] - begin, {"id": FeatureTable.eye(end - begin)})
        for j, (begin, end) in enumerate(pairwise(edges))
    }
    return Blocks(**fields)


def _checked(
    caller: str, users: npt.ArrayLike, items: npt.ArrayLike, n_users: int | None, n_items: int | None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], tuple[int, int]]:
    user_rows, user_count = _side(caller, "users", users, n_users)
    item_rows, item_count = _side(caller, "items", items, n_items)
    if len(user_rows) != len(item_rows):
        given = f"got {len(user_rows)} users and {len(item_rows)} items"
        raise ValueError(f"{caller}: {given}; give one of each per interaction.")
    return user_rows, item_rows, (user_count, item_count)


def _side(caller: str, name: str, rows: npt.ArrayLike, size: int | None) -> tuple[npt.NDArray[np.int32], int]:
    if size is None:
        indices = check_rows(f"{caller}: {name}", rows, MOST_ROWS)
        return indices, int(indices.max(initial=-1)) + 1
    size = check_integer(f"{caller}: n_{name}", size, 0, MOST_ROWS)
    return check_rows(f"{caller}: {name}, of n_{name}={size},", rows, size), size
