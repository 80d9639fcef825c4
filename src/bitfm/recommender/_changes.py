"""What comes after the fit: users, items and interactions that are added or removed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bitfm.recommender import _inputs
from bitfm.recommender._fitted import Fitted
from bitfm.recommender._ids import known_ids, warn_of_unknown

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Changes"]


class Changes(Fitted):
    """The part of `Recommender` that changes it without a new fit."""

    def add_users(self, users: Any) -> Self:
        """Add users, or give known ones other values; columns as of the table that the recommender was fitted on.

        Other columns are passed over, with a `BitfmWarning`.
        """
        return self._add_rows("user", users)

    def add_items(self, items: Any) -> Self:
        """Add items, or give known ones other values; they are recommended from now on."""
        return self._add_rows("item", items)

    def update_items(self, items: Any) -> Self:
        """Give known items other values, such as stock and price; columns that the table lacks stay as they are.

        Where no feature is made from a column, as of those whose kind is "ignore", only what ``where=``, ``boost=`` and
        ``diversity=`` go by changes, and the model and its index are left alone.

        Parameters
        ----------
        items : table with the column of ids
            Items that are not known are passed over, with a `BitfmWarning`.
        """
        import polars as pl

        ids, frame = _inputs.rows_of(self.state, "item", items, "update_items")
        with self._changing:
            indices = self.state.items.ids.indices(ids)
            warn_of_unknown("update_items", "item", ids.to_list(), indices, "passed over")
            known = [column.filter(indices >= 0) for column in frame]  # without Polars' threads
            self._put_rows("item", ids.filter(indices >= 0), pl.DataFrame(known))
        return self

    def _add_rows(self, name: str, table: Any) -> Self:
        ids, frame = _inputs.rows_of(self.state, name, table, f"add_{name}s")
        with self._changing:
            self._put_rows(name, ids, frame)
        return self

    def _put_rows(self, name: str, ids: pl.Series, frame: pl.DataFrame) -> None:
        """Take rows; where these are known items, and no feature is made from the columns, little is to be done."""
        state = self.state
        learnt = {column.name for column in state.side(name).columns}
        titles = state.side(name).titles
        learnt |= {titles.column} if titles is not None else set()
        if name == "item" and not learnt & set(frame.columns) and (state.items.ids.indices(ids) >= 0).all():
            self._state = state.with_values(ids, frame)
        else:
            self._state = state.with_rows(name, ids, frame)

    def add_ratings(self, ratings: Any) -> Self:
        """Add ratings and solve anew for the codes of all users and items that they name.

        Everything else stays as it is. Users and items may be new. Of a user and an item, what was added last counts,
        whatever its time; within a table the latest, or the mean where there is a context.

        Parameters
        ----------
        ratings : table as for `fit`
            Columns of the context, and of the time, may be left out.
        """
        if self.state.target is None:
            raise ValueError("add_ratings: the recommender was fitted to events; use add_events.")
        return self._add_interactions("ratings", ratings)

    def add_events(self, events: Any) -> Self:
        """Add events; users and items may be new.

        They count at once for their users, and for the codes of items of which they are a twentieth or more.
        Neighbours and all else stay as they are.

        Parameters
        ----------
        events : table as for `fit`
            Columns of the context, of the time, and of what events are or count for, may be left out.
        """
        if self.state.target is not None:
            raise ValueError("add_events: the recommender was fitted to ratings; use add_ratings.")
        return self._add_interactions("events", events)

    def _add_interactions(self, what: str, table: Any) -> Self:
        with self._changing:
            state = self.state
            read = _inputs.interactions_of(state, table, what).latest()
            self._state = state.with_interactions(read, _inputs.contexts_of(state, read))
        return self

    def remove_users(self, users: Any) -> Self:
        """Remove users, with all that is known of them, from this recommender and from files that it saves.

        Their ids, features, interactions and codes go, they are no longer among the raters of items, and categories and
        words that nobody else has go as well. What others, and the model as a whole, have learnt from them stays until
        the next `fit`. Earlier files, and `notes`, are left alone. An id that is added again is new.

        Parameters
        ----------
        users : id, sequence of ids, or frame with the column of ids
            Those that are not known are passed over, with a `BitfmWarning`.
        """
        return self._remove_ids("user", users)

    def remove_items(self, items: Any) -> Self:
        """Remove items, with all that is known of them; they are in no history, and never recommended again.

        What others have learnt from them stays until the next `fit`; see `remove_users`.
        """
        return self._remove_ids("item", items)

    def _remove_ids(self, name: str, given: Any) -> Self:
        with self._changing:
            state = self.state
            if name == "user":
                state.need_users("remove_users")
            gone = np.unique(known_ids(state, name, f"remove_{name}s", given))
            if len(gone):
                self._state, self._examples = state.without_ids(name, gone), None
        return self

    def remove_interactions(self, pairs: Any) -> Self:
        """Remove ratings, or all events of pairs, and solve anew for the users and items that they name.

        Of ratings these get the codes of new users and items with the ratings that are left. Of events the items get
        codes anew, and users have none. Everything else keeps what it has learnt until the next `fit`.

        Parameters
        ----------
        pairs : table with the columns of users and items, or a list of pairs of ids
            Pairs without interactions are passed over, with a `BitfmWarning`.
        """
        with self._changing:
            state = self.state
            state.need_users("remove_interactions")
            users, items = _inputs.logged_pairs_of(state, "remove_interactions", pairs)
            if len(users):
                self._state, self._examples = state.without_interactions(users, items), None
        return self
