"""What a recommender is asked: for items, and for scores of pairs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from bitfm.parameters import Explanation
from bitfm.recommender import _inputs, _search
from bitfm.recommender._fitted import Fitted
from bitfm.recommender._ids import index_of, looked_up, users_of
from bitfm.recommender._rules import allowed_items, hidden_items, rules_of
from bitfm.recommender._state import Found
from bitfm.validation import check_integer

__all__ = ["Queries"]


class Queries(Fitted):
    """The part of `Recommender` that recommends, explains and predicts."""

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        context: Mapping[str, Any] | None = None,
        seen: bool = False,
        exclude: Any = None,
        where: Any = None,
        allow: Any = None,
        deny: Any = None,
        boost: Any = None,
        diversity: float | Mapping[str, int] | None = None,
    ) -> Any:
        """Return the best items for a user, or for several.

        The result is exact: what scoring every item and sorting would find. An unknown user gets
        the non-personalised ranking.

        Parameters
        ----------
        users : id, sequence of ids, or frame with the column of ids
        n : int, default 10
        context : mapping of column to value, optional
            The same for all; what is not given is unknown.
        seen : bool, default False
            Whether to return items that a user has already as well.
        exclude : kinds of events, table of users and items, mapping of users to items, or list of pairs, optional
            What to hide in place of all that a user has: ``["buy"]`` hides what was bought and shows what was viewed.
        where : mapping of column to value, expression, or list of these, optional
            Only items of which this is so: ``{"category": "books", "stock": True}``, a list for any of several values,
            None for none; or an expression of Polars or Narwhals, such as ``pl.col("price") < 20``. Columns are those
            that `fit` was to keep: ``filters=``.
        allow, deny : ids of items, optional
            Items to choose from, and items to leave out: for all, or, as a mapping of users to ids or a table of users
            and items, for each. A user that ``allow`` does not name then gets nothing.
        boost : column, mapping of column to number, or a number for each of some ids, optional
            What to add to scores: ``{"margin": 0.1}`` adds a tenth of the column, and an item without a value has 0.
            For ids it is a mapping, or a table of ids and numbers. Scores are those with it.
        diversity : float, or mapping of column to int, optional
            From 0 to 1, by maximal marginal relevance: how much an item that is like those before it falls behind. Or
            the best items of which at most so many have the same value: ``{"author": 1}``.

        Returns
        -------
        frame of the kind that the recommender was fitted on
            Columns ``rank``, ``item``, ``score``, and ``title`` if there are titles; for several users, ``user`` and
            ``known`` first. Where fewer than n items are left, there are fewer rows.

        Warns
        -----
        BitfmWarning
            Of users and items that are not known.
        """
        state = self.state
        asked, n = users_of(state, "recommend", users, "given the non-personalised ranking"), check_integer("n", n, 1)
        rows = state.query_rows(asked.indices, _inputs.context_of(state, context, len(asked.ids)))
        hidden = hidden_items(state, asked, seen, exclude)
        rules = rules_of(where, allow, deny, boost, diversity)
        return _search.answer(state, _search.search(state, rows, n, hidden, rules, asked), asked)

    def recommend_new(
        self,
        history: Iterable[Any] = (),
        features: Mapping[str, Any] | None = None,
        n: int = 10,
        *,
        context: Mapping[str, Any] | None = None,
        seen: bool = False,
        where: Any = None,
        allow: Any = None,
        deny: Any = None,
        boost: Any = None,
        diversity: float | Mapping[str, int] | None = None,
    ) -> Any:
        """Return the best items for a new user.

        Parameters
        ----------
        history : pairs of an item's id and a rating, or bare ids; or a mapping
            Items that are not known are passed over, with a `BitfmWarning`. Of events, what an item counts for stands
            in place of a rating; below 0 it is a dislike.
        features : mapping of column to value, optional
            Columns of the users' table; what is not given is missing.
        n, context, where, boost, diversity : as for `recommend`
        seen : bool, default False
            Whether to return items of the history as well.
        allow, deny : ids of items, optional
            Items to choose from, and items to leave out.
        """
        state = self.state
        at, n = _inputs.context_of(state, context, 1), check_integer("n", n, 1)
        told, rated = _inputs.row_of(state, "user", features), _inputs.history_of(state, history)
        row, hidden = state.new_rows(told, rated, at), None if seen else rated
        return _search.answer(
            state, _search.search(state, row, n, hidden, rules_of(where, allow, deny, boost, diversity))
        )

    def similar_items(self, item: Any, n: int = 10, *, where: Any = None, allow: Any = None, deny: Any = None) -> Any:
        """Return the items that the same users like.

        The score is the correlation, from user to user, of what the model says of the two items beyond what it says of
        any.

        Parameters
        ----------
        item : id
        n : int, default 10
        where, allow, deny : as for `recommend_new`
        """
        state = self.state
        index, n = index_of(state, "item", item), check_integer("n", n, 1)
        alike = state.need_finite(state.item_likeness.to_one(index))
        return _search.answer(state, Found.alike(alike, index, n, allowed_items(state, rules_of(where, allow, deny))))

    def similar_users(self, user: Any, n: int = 10) -> Any:
        """Return the users who like the same items.

        The score is the correlation, from item to item, of what the model says of the two users beyond what it says of
        any. Of events, what neighbours add is left out, and the first call works out the vectors of all users.

        Returns
        -------
        frame of the kind that the recommender was fitted on
            Columns ``rank``, ``user`` and ``score``.
        """
        state = self.state
        state.need_users("similar_users")
        index, n = index_of(state, "user", user), check_integer("n", n, 1)
        return _search.answer_users(state, Found.alike(state.need_finite(state.user_likeness.to_one(index)), index, n))

    def explain(self, user: Any, item: Any, *, context: Mapping[str, Any] | None = None) -> Explanation:
        """Take a score apart: the contribution of every feature and of every pair, by name.

        Of events, that of every past item and of every feature. A user of None is an unknown one; one who is not known
        is explained as such, with a `BitfmWarning`.
        """
        state = self.state
        index = -1 if user is None else int(looked_up(state, "user", "explain", [user])[0])
        at = _inputs.context_of(state, context, 1)
        return state.explain(index, index_of(state, "item", item), at)

    def predict(self, pairs: Any) -> npt.NDArray[np.float64]:
        """Score interactions.

        Parameters
        ----------
        pairs : table with the columns of users, items and context, or a list of pairs of ids
            Users, items and values that are not known are scored by what is, with a `BitfmWarning` that names users and
            items. In a list, None is a user or an item that is not known. Columns of the context may be left out.
        """
        state = self.state
        return state.scores(*_inputs.pairs_of(state, pairs))
