"""What else a user has rated, and who else has rated an item, as fields."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.data.feature_table import MOST_ROWS, FeatureTable, check_rows
from bitfm.validation import check_integer

_Rows: TypeAlias = npt.NDArray[np.int32]


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


def _checked(
    caller: str, users: npt.ArrayLike, items: npt.ArrayLike, n_users: int | None, n_items: int | None
) -> tuple[_Rows, _Rows, tuple[int, int]]:
    user_rows, user_count = _side(caller, "users", users, n_users)
    item_rows, item_count = _side(caller, "items", items, n_items)
    if len(user_rows) != len(item_rows):
        given = f"got {len(user_rows)} users and {len(item_rows)} items"
        raise ValueError(f"{caller}: {given}; give one of each per interaction.")
    return user_rows, item_rows, (user_count, item_count)


def _side(caller: str, name: str, rows: npt.ArrayLike, size: int | None) -> tuple[_Rows, int]:
    if size is None:
        indices = check_rows(f"{caller}: {name}", rows, MOST_ROWS)
        return indices, int(indices.max(initial=-1)) + 1
    size = check_integer(f"{caller}: n_{name}", size, 0, MOST_ROWS)
    return check_rows(f"{caller}: {name}, of n_{name}={size},", rows, size), size
