"""What a recommender tells of itself: its users and items, their vectors, and its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bitfm import persist
from bitfm.parameters import kind_of
from bitfm.recommender import _inputs, _search
from bitfm.recommender._fitted import Fitted
from bitfm.recommender._ids import users_of
from bitfm.recommender._labels import feature_label
from bitfm.recommender._vectors import Codes, Vectors

__all__ = ["Views"]


class Views(Fitted):
    """The part of `Recommender` that shows what was learnt."""

    def item_vectors(self) -> Vectors:
        """Return a vector per item, whose inner product with one of `user_vectors` is the score.

        For search engines such as FAISS or pgvector, by the inner product. Of ratings it is exact; the last two numbers
        stand for what the item and the user have in all of their scores. Of events it is exact without neighbours
        (``ImplicitFM(n_neighbors=0)``); with them it leaves out what they add.

        Returns
        -------
        Vectors
            ``ids``, and ``vectors`` of float32, one row each.
        """
        state = self.state
        ids = state.items.ids_of(np.arange(len(state.items))).to_list()
        return Vectors(ids, state.need_finite(state.item_matrix()))

    def item_codes(self) -> Codes:
        """Return a code, a gain and a bias per item, which make scores with ``user_vectors(codes=True)``; see `Codes`.

        Items of events have codes whatever is known of them; as in `item_vectors`, what neighbours add is left out.
        Items of ratings have one of their own only if nothing but their id is a feature: without columns, and with
        ``Recommender(raters=False)``.

        Returns
        -------
        Codes
            ``ids``, ``codes`` of packed bits, ``gains`` and ``biases``.
        """
        state = self.state
        codes, gains, biases = state.item_codes()
        ids = state.items.ids_of(np.arange(len(state.items))).to_list()
        return Codes(ids, codes, state.need_finite(gains), state.need_finite(biases))

    def user_vectors(
        self, users: Any = None, *, context: Mapping[str, Any] | None = None, codes: bool = False
    ) -> Vectors:
        """Return a vector per user, of all users by default; see `item_vectors`.

        Parameters
        ----------
        users : id, sequence of ids, or frame with the column of ids, optional
        context : mapping of column to value, optional
            The same for all; what is not given is unknown.
        codes : bool, default False
            Whether they are for `item_codes` in place of `item_vectors`: one number per bit, and two more. Of ratings
            both are the same.
        """
        state = self.state
        if users is None:
            indices = np.arange(len(state.users), dtype=np.int32)
            ids = state.users.ids_of(indices).to_list()
        else:
            ids, indices, _ = users_of(state, "user_vectors", users, "given the vector of nobody in particular")
        at = _inputs.context_of(state, context, len(ids))
        found = state.code_query_matrix(indices, at) if codes else state.query_matrix(indices, at)
        return Vectors(ids, state.need_finite(found))

    @property
    def users(self) -> Any:
        """The users that are known, as a frame: their ids, and how many interactions each has."""
        return _search.side_frame(self.state, "user")

    @property
    def items(self) -> Any:
        """The items that are known, as a frame: ids, titles if there are any, and how many interactions each has."""
        return _search.side_frame(self.state, "item")

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.state.users)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.state.items)

    @property
    def fields(self) -> list[str]:
        """The model's fields, such as ``"user.age"`` and ``"user.history"``."""
        return [f"{field.block}.{field.name}" for field in self.state.parameters.fields]

    @property
    def filters(self) -> list[str]:
        """The columns of items that ``where=``, ``boost=`` and ``diversity=`` may name."""
        return [column.name for column in self.state.items.kept]

    @property
    def model_(self) -> Any:
        """The fitted model, as an estimator."""
        state = self.state
        with persist.naming(state.index.file or "the recommender's model"):
            model = kind_of(state.model).from_record(state.model, state.parameters, state.index)
        return model.set_params(**state.unsaved)

    def feature_name(self, field: str, feature: int) -> str:
        """Return what a feature of one of `Recommender.fields` stands for, for people to read."""
        for span in self.state.parameters.fields:
            if f"{span.block}.{span.name}" == field:
                return feature_label(self.state, span, feature)
        raise ValueError(f"feature_name: there is no field {field!r}; the fields are {', '.join(self.fields)}.")

    def describe(self) -> Any:
        """Return what was made of the columns: a frame of side, column, kind, why, features and share of missing."""
        import polars as pl

        from bitfm.data.tables import in_kind

        names = ("side", "column", "kind", "why", "features", "missing")
        rows = {name: [getattr(note, name) for note in self.state.columns] for name in names}
        return in_kind(pl.DataFrame(rows), self.state.frames)
