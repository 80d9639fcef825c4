"""How a query becomes a row of the users' tower: by what is stored of the user, or in another, registered way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from bitfm.core import Design32
from bitfm.errors import ModelFileError
from bitfm.parameters import TowerRows
from bitfm.persist import Registry

if TYPE_CHECKING:
    from bitfm.data.blocks import Block
    from bitfm.recommender._state import State

__all__ = ["USER_TOWERS", "StoredUsers", "UserTower"]

_ROW, _ONE, _ONE_ENTRY = np.zeros(1, np.int32), np.ones(1, np.float32), np.array((0, 1))  # of one row


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
        if len(users) == 1 and context is None:
            found = self.one_row(state, int(users[0]))
            if found is not None:
                return found
        return state.towers[0].rows_of(state.queries(users, context), n_threads)

    def one_row(self, state: State, user: int) -> TowerRows | None:
        """Return the row of one user without context, in a fifth of the time; None where it cannot be."""
        log, width, n_ids = state.log.by_user, state.sizes.get(("user", "history")), state.sizes["user", "id"]
        if state.context or not 0 <= user < n_ids or width not in (None, log.n_columns):
            return None
        if any(table.is_dense for table in state.users.tables):
            return None
        design = Design32()
        design.add_block(1, _ROW)
        try:
            for table in state.users.tables:
                design.add_table(table.n_columns, *table.row(user))
            if width is not None:
                indptr, items, _ = log.row(user)
                values = np.full(len(items), 1 / np.sqrt(max(len(items), 1)), np.float32)
                design.add_table(width, indptr, items, values)
            design.add_table(n_ids, _ONE_ENTRY, np.array((user,), np.int32), _ONE)
        except ModelFileError:
            raise
        except (ValueError, TypeError) as error:  # the core refuses what a damaged file holds
            raise log.damage(error) from None
        return state.towers[0].rows_of_design(design)


USER_TOWERS: Registry[Any] = Registry("bitfm.user_towers")
USER_TOWERS.register("stored", StoredUsers())
