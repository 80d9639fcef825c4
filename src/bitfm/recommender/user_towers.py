"""How a query becomes a row of the users' tower: by what is stored of the user, or in another, registered way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from bitfm.parameters import TowerRows
from bitfm.persist import Registry

if TYPE_CHECKING:
    from bitfm.data.blocks import Block
    from bitfm.recommender._state import State

__all__ = ["USER_TOWERS", "StoredUsers", "UserTower"]


class UserTower(Protocol):
    """Gives the constant and the vector of queries; `USER_TOWERS` holds them by name."""

    def rows(self, state: State, users: npt.NDArray[np.int32], context: Block | None, n_threads: int) -> TowerRows:
        """Return one row per query.

        Parameters
        ----------
        state : State
            What was fitted: ``parameters``, ``towers``, ``log`` (users × items), ``all_rows("item")`` and more.
        users : array of int
            Index of each query's user; -1 is one that is not known.
        context : Block or None
            The context of each query, where there are contexts.
        n_threads : int
        """
        ...


class StoredUsers:
    """The users' features, histories and ids as they are stored."""

    def rows(self, state: State, users: npt.NDArray[np.int32], context: Block | None, n_threads: int) -> TowerRows:
        """Return one row per query."""
        return state.stored_rows(users, context, n_threads)


USER_TOWERS: Registry[Any] = Registry("bitfm.user_towers")
USER_TOWERS.register("stored", StoredUsers())
