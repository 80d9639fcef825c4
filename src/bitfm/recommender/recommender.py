"""Tables in, recommendations out."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from bitfm import persist
from bitfm.data.blocks import Blocks
from bitfm.data.forks import need_threads
from bitfm.data.interactions import HeldOut, Interactions
from bitfm.errors import ModelFileError, NotFittedError
from bitfm.parameters import Explanation, kind_of
from bitfm.recommender import _evaluation, _inputs, _query
from bitfm.recommender._evaluation import Evaluation
from bitfm.recommender._ids import item_index, known_ids, users_of
from bitfm.recommender._labels import feature_label
from bitfm.recommender._locks import new_lock
from bitfm.recommender._state import State
from bitfm.recommender._vectors import Vectors
from bitfm.validation import check_choice, check_integer

if TYPE_CHECKING:  # a query needs no estimator
    from bitfm.models import Callback, DiscreteFM, DistilledFM, ImplicitFM

__all__ = ["Recommender"]


@dataclass(eq=False, repr=False)
class Recommender:
    """Learns from tables of interactions, users and items, and recommends by their own ids.

    Parameters
    ----------
    bits : int, optional
        Length of the codes: a multiple of 8 from 8 to 512. By default 64 for ratings and 256 for events.
    model : DistilledFM, DiscreteFM or ImplicitFM, optional
        The model to fit, in place of ``bits``, ``random_state``, ``n_jobs`` and ``verbose``. Ratings are fitted by a
        `DistilledFM`, or a `DiscreteFM`, whose features meet across users, context and items, never within one of them;
        events by an `ImplicitFM`.
    kinds : mapping of column to kind, optional
        What columns are, where it is not what they look like: ``{"zip": "ignore", "item.year": "number"}``; see
        `bitfm.data.kind_of`. A column is called by its name, or by ``user.``, ``item.`` or ``context.`` and its name.
    history, raters : bool, default True
        For ratings: whether users have the items they have rated as features, and items the users who have rated them.
    event_weights : mapping of kind to number, optional
        For events of several kinds, which `fit` is told by ``event=``: what each counts for, such as
        ``{"view": 1, "cart": 3, "buy": 10}``; below 0 it counts against the item.
    half_life : float, optional
        For events with times: after how many days an event counts for half.
    keep_interactions : bool, default True
        For events: whether to keep users and their events. Without them nothing of any user is in the file, and one
        asks by a history: `recommend_new`.
    user_tower : str, default "stored"
        How a query becomes a vector: by what is stored of its user, or by another tower of `USER_TOWERS`.
    random_state : int, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.
    verbose : int, default 0
        Print one line per iteration.

    Attributes
    ----------
    notes : dict of str to str
        Anything to be kept with the model, such as where the data came from.
    held_out : HeldOut or None
        Which part of a table the recommender was not fitted to, if `Interactions.split` held one out.

    Examples
    --------
    >>> from bitfm import Recommender
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(n_readers=200, n_books=100, n_ratings=4000)
    >>> rec = Recommender(bits=32).fit(
    ...     shop.ratings, users=shop.readers, items=shop.books, user="reader", item="title", target="rating"
    ... )
    >>> rec
    Recommender(200 users, 100 items, 4000 ratings, 32 bits)
    >>> reader = shop.readers["reader"][0]
    >>> best = rec.recommend(reader, n=3)
    >>> best.columns, len(best)
    (['rank', 'item', 'score'], 3)
    >>> rec.recommend_new(history=[(best["item"][0], 5)], features={"age_group": "25-34"}, n=2).columns
    ['rank', 'item', 'score']

    Of a pair of a reader and a book:

    >>> score = rec.predict([(reader, "A Raven for Low Faerie")])[0]
    >>> bool(abs(rec.explain(reader, "A Raven for Low Faerie").score - score) < 1e-4)
    True
    >>> len(rec.similar_items("A Raven for Low Faerie", n=5))
    5

    What comes after the fit:

    >>> rec.add_items({"title": ["The Bit Counter"], "genre": ["Fantasy"]}).n_items
    101
    >>> more = {"reader": ["Zed", "Zed"], "title": ["The Bit Counter", "A Raven for Low Faerie"], "rating": [5, 2]}
    >>> rec.add_ratings(more)
    Recommender(201 users, 101 items, 4002 ratings, 32 bits)
    >>> rec.evaluate({"reader": ["Zed"], "title": [best["item"][0]], "rating": [4]}).users
    1
    >>> rec.remove_interactions([("Zed", "A Raven for Low Faerie")]).remove_items("The Bit Counter").remove_users("Zed")
    Recommender(200 users, 100 items, 4000 ratings, 32 bits)
    """

    bits: int | None = None
    _: KW_ONLY
    model: DistilledFM | DiscreteFM | ImplicitFM | None = None
    kinds: Mapping[str, Any] | None = None
    history: bool = True
    raters: bool = True
    event_weights: Mapping[str, float] | None = None
    half_life: float | None = None
    keep_interactions: bool = True
    user_tower: str = "stored"
    random_state: int = 0
    n_jobs: int | None = -1
    verbose: int = 0

    notes: dict[str, str] = field(default_factory=dict, init=False)
    held_out: HeldOut | None = field(default=None, init=False)
    _state: State | None = field(default=None, init=False)
    _examples: tuple[Blocks, npt.NDArray[np.float64]] | None = field(default=None, init=False)
    # One change at a time, each on top of the last; queries do not wait.
    _changing: threading.Lock = field(default_factory=new_lock, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_changing", "_examples")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_examples": None, "_changing": new_lock()}

    def __repr__(self) -> str:
        if self._state is None:
            return f"Recommender({'' if self.bits is None else f'{self.bits} bits, '}not fitted)"
        state = self._state
        thing = "pairs with events" if state.target is None else "ratings"
        sizes = f"{len(state.users)} users, {len(state.items)} items, {state.log.by_user.n_entries} {thing}"
        return f"Recommender({sizes}, {state.parameters.bits} bits)"

    def fit(
        self,
        interactions: Any,
        *,
        users: Any = None,
        items: Any = None,
        user: str = "user_id",
        item: str = "item_id",
        target: str | None = "rating",
        context: Sequence[str] = (),
        time: str | None = None,
        event: str | None = None,
        weight: str | None = None,
        decimal: str | None = None,
        dates: str | None = None,
        missing: str = "drop",
        title: str | None = None,
        callback: Callback | None = None,
        keep_training_data: bool = False,
    ) -> Self:
        """Learn from tables: frames of Polars, pandas or Arrow, dictionaries of columns, or paths of files.

        Parameters
        ----------
        interactions : table, or Interactions
            One row per rating, or per event. Only the latest rating of a user and item counts, unless
            there is a context; events all count, and those of a user with one item count together. Of a user with far
            more ratings than others have, such as a bot, so many are learnt from that they are a tenth of all; 5000
            always are.
        users, items : table, optional
            One row per user, or item: what is known of them. Ids without interactions are known by it as well.
        user, item : str
            The columns of ids, in the interactions and in the tables of users and items.
        target : str or None, default "rating"
            The column of ratings. None: the rows are events, such as purchases.
        context : sequence of str, optional
            Columns of the interactions that are known when one asks for recommendations, such as the weather.
        time : str, optional
            The column of times, to tell which of two ratings is the latest, or how old an event is: ``half_life``.
        event : str, optional
            The column that says what an event is; see ``event_weights``.
        weight : str, optional
            The column of how much an event counts; below 0 it is a dislike, which counts against the item.
        decimal : "." or ",", optional
            The decimal mark of numbers that are strings, in all tables. By default it is found for each column, by
            those of its values that have one reading only, such as 17,94.
        dates : "dmy" or "mdy", optional
            Whether day or month comes first in dates such as 03/04/2018; by default it is found for each column.
        missing : {"drop", "error"}, default "drop"
            Whether rows without a rating are dropped, with a `BitfmWarning` that counts them, or refused.
        title : str, optional
            The column of items to show beside their ids; by default one that is called ``title`` or ``name``.
        callback : called with an `Iteration` after each iteration; returning True stops the fit
        keep_training_data : bool, default False
            Whether to keep what the model is fitted to, for `training_data`.

        Raises
        ------
        TableError
            If a table cannot be used; the message names table, column and row. What was fitted before stays.
        ForkedProcessError
            If the process was forked from one that had started Polars' threads.
        """
        from bitfm.recommender._fitting import fit_state

        if title is not None and items is None:
            raise ValueError(f"title={title!r} is a column of items, but there is no table of items; give items=.")
        need_threads("fit", "fit before the fork")
        roles: dict[str, Any] = {"user": user, "item": item, "target": target, "context": context, "time": time}
        roles |= {"event": event, "weight": weight, "decimal": decimal, "dates": dates}
        given = Interactions.of(interactions, **roles, missing=missing)
        state, examples = fit_state(self, given, users, items, title, callback, decimal, dates)
        with self._changing:
            self._state, self.held_out = state, given.held_out
            self._examples = examples if keep_training_data else None
        return self

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        context: Mapping[str, Any] | None = None,
        seen: bool = False,
        allow: Iterable[Any] | None = None,
        deny: Iterable[Any] | None = None,
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
        allow, deny : ids of items, optional
            Items to choose from, and items to leave out.

        Returns
        -------
        frame of the kind that the recommender was fitted on
            Columns ``rank``, ``item``, ``score``, and ``title`` if there are titles; for several users, ``user`` and
            ``known`` first.

        Warns
        -----
        BitfmWarning
            Of users and items that are not known.
        """
        state = self.state
        asked, n = users_of(state, users), check_integer("n", n, 1)
        rows = state.query_rows(asked.indices, _inputs.context_of(state, context, len(asked.ids)))
        exclude = None if seen else state.log.by_user.take(asked.indices)
        return _query.answer(state, _query.search(state, rows, n, exclude, allow, deny), asked)

    def recommend_new(
        self,
        history: Iterable[Any] = (),
        features: Mapping[str, Any] | None = None,
        n: int = 10,
        *,
        context: Mapping[str, Any] | None = None,
        allow: Iterable[Any] | None = None,
        deny: Iterable[Any] | None = None,
    ) -> Any:
        """Return the best items for a new user.

        Parameters
        ----------
        history : pairs of an item's id and a rating, or bare ids; or a mapping
            Items that are not known are passed over, with a `BitfmWarning`. Of events, what an item counts for stands
            in place of a rating; below 0 it is a dislike.
        features : mapping of column to value, optional
            Columns of the users' table; what is not given is missing.
        n, context, allow, deny : as for `recommend`
        """
        state = self.state
        at, n = _inputs.context_of(state, context, 1), check_integer("n", n, 1)
        told, rated = _inputs.row_of(state, "user", features), _inputs.history_of(state, history)
        row = state.new_rows(told, rated, at)
        return _query.answer(state, _query.search(state, row, n, rated, allow, deny))

    def similar_items(self, item: Any, n: int = 10) -> Any:
        """Return the items that the same users like.

        The score is the correlation, from user to user, of what the model says of the two items beyond what it says of
        any.
        """
        state = self.state
        return _query.answer(state, state.similar_items(item_index(state, item), check_integer("n", n, 1)))

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

    def user_vectors(self, users: Any = None, *, context: Mapping[str, Any] | None = None) -> Vectors:
        """Return a vector per user, of all users by default; see `item_vectors`.

        Parameters
        ----------
        users : id, sequence of ids, or frame with the column of ids, optional
        context : mapping of column to value, optional
            The same for all; what is not given is unknown.
        """
        state = self.state
        if users is None:
            indices = np.arange(len(state.users), dtype=np.int32)
            ids = state.users.ids_of(indices).to_list()
        else:
            ids, indices, _ = users_of(state, users)
        at = _inputs.context_of(state, context, len(ids))
        return Vectors(ids, state.need_finite(state.query_matrix(indices, at)))

    @property
    def users(self) -> Any:
        """The users that are known, as a frame: their ids, and how many interactions each has."""
        return _query.side_frame(self.state, "user")

    @property
    def items(self) -> Any:
        """The items that are known, as a frame: ids, titles if there are any, and how many interactions each has."""
        return _query.side_frame(self.state, "item")

    def explain(self, user: Any, item: Any, *, context: Mapping[str, Any] | None = None) -> Explanation:
        """Take a score apart: the contribution of every feature and of every pair, by name.

        Of events, that of every past item and of every feature. A user of None is an unknown one.
        """
        state = self.state
        index = -1 if user is None else int(state.users.indices_of([user])[0])
        at = _inputs.context_of(state, context, 1)
        return state.explain(index, item_index(state, item), at)

    def predict(self, pairs: Any) -> npt.NDArray[np.float64]:
        """Score interactions.

        Parameters
        ----------
        pairs : table with the columns of users, items and context, or a list of pairs of ids
            Users, items and values that are not known are scored by what is. Columns of the context may be left out.
        """
        state = self.state
        return state.scores(*_inputs.pairs_of(state, pairs))

    def evaluate(
        self,
        test: Any,
        *,
        k: int = 10,
        without: Sequence[str] = (),
        by: str = "auto",
        model: Any = None,
    ) -> Evaluation:
        """Return how good the recommender is on interactions that it was not fitted to.

        Of events, an item that is not known cannot be found, and counts as missed.

        Parameters
        ----------
        test : table as for `fit`
        k : int, default 10
        without : sequence of str, optional
            Fields that the fitted model is to do without, such as ``"user.history"``, or whole blocks such as
            ``"context"``; see `Recommender.fields`.
        by : {"auto", "user", "interaction"}, default "auto"
            Of events: whether each user is to find all held-out items among those that are new to them, or each
            interaction its item among all, in its context. By default the second if there is a context.
        model : BiasModel, FM or ImplicitFM, optional
            Another model, fitted to `training_data` of the same interactions, to compare with. Of ratings, its features
            must meet across blocks only: ``FM(pairs="across")``. Of events it may be anything with a ``recommend`` as
            that of `ImplicitFM`.
        """
        if model is not None and len(without):
            raise ValueError("evaluate: fields can be left out of the recommender's own model only; give no model=.")
        state = self.state
        k = check_integer("k", k, 1)
        parameters = state.parameters
        if model is not None:
            if (state.target is None) != hasattr(model, "recommend"):
                needed = "recommend(histories, n, seen=)" if state.target is None else "parameters_, as an FM has"
                raise TypeError(f"evaluate: expected a model with {needed}; got a {type(model).__name__}.")
            parameters = model if state.target is None else _evaluation.widened(state, model.parameters_)
        elif len(without):
            parameters = state.without([without] if isinstance(without, str) else list(without))
        read = _inputs.interactions_of(state, test, "test")
        by = check_choice("by", by, ("auto", "user", "interaction"))
        return _evaluation.evaluate(state, parameters, read, k, by)

    def interactions(self, table: Any) -> Interactions:
        """Read a table of interactions like the one that the recommender was fitted on."""
        return _inputs.interactions_of(self.state, table, "interactions")

    def training_data(self, interactions: Any = None) -> tuple[Blocks, npt.NDArray[np.float64]]:
        """Return interactions as `fit` gives them to the model: blocks, and targets or how much events count.

        Without a table it is what `fit` kept; a removal drops it.
        """
        from bitfm.recommender._fitting import training_data

        if interactions is not None:
            read = self.interactions(interactions).latest()
            return training_data(self.state, read)
        if self._examples is None:
            raise ValueError("training_data: none is kept; give the table, or fit with keep_training_data=True.")
        return self._examples

    def add_users(self, users: Any) -> Self:
        """Add users, or give known ones other values; columns as of the table that the recommender was fitted on.

        Other columns are passed over, with a `BitfmWarning`.
        """
        return self._add_rows("user", users)

    def add_items(self, items: Any) -> Self:
        """Add items, or give known ones other values; they are recommended from now on."""
        return self._add_rows("item", items)

    def _add_rows(self, name: str, table: Any) -> Self:
        ids, frame = _inputs.rows_of(self.state, name, table)
        with self._changing:
            self._state = self.state.with_rows(name, ids, frame)
        return self

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but ``kinds`` and ``model``, which a new fit would need, to one file; see `bitfm.load`.

        The file is written beside its place and renamed, so whatever happens there is either the old file or the new.
        """
        from bitfm.recommender._saving import save_recommender

        save_recommender(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Recommender:
        """Open a saved recommender; as `bitfm.load`, but refuses a file that holds a model alone."""
        from bitfm.recommender._saving import open_recommender

        contents = persist.read(path)
        if "recommender" not in contents.metadata:
            raise ModelFileError(
                f"{os.fspath(path)} holds a model without a recommender's tables; open it with bitfm.load, or save a "
                "Recommender."
            )
        with persist.naming(path):
            return open_recommender(contents)

    @classmethod
    def of_state(cls, state: State, notes: dict[str, str], held_out: HeldOut | None, **settings: Any) -> Recommender:
        """Return a fitted recommender of its parts."""
        recommender = cls(**settings)
        recommender._state, recommender.notes, recommender.held_out = state, notes, held_out
        return recommender

    @property
    def state(self) -> State:
        """What was learnt: sides, parameters and index, as one immutable value."""
        if self._state is None:
            raise NotFittedError("This Recommender is not fitted yet: call fit with a table of interactions first.")
        return self._state
