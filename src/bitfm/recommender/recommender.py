"""Tables in, recommendations out."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from bitfm import persist
from bitfm.data.blocks import Blocks
from bitfm.data.interactions import HeldOut, Interactions
from bitfm.errors import ModelFileError, NotFittedError
from bitfm.parameters import KINDS, Explanation, Parameters, without_fields
from bitfm.recommender import _changes, _evaluation, _inputs, _query
from bitfm.recommender._evaluation import Evaluation
from bitfm.recommender._reading import ColumnNote, SideReader
from bitfm.recommender._state import State
from bitfm.recommender.user_towers import USER_TOWERS
from bitfm.validation import check_choice, check_integer

if TYPE_CHECKING:  # a query needs no estimator
    from bitfm.models import Callback, DiscreteFM, DistilledFM
    from bitfm.models.base import FeatureModel

__all__ = ["Recommender"]


class Recommender:
    """Learns from tables of interactions, users and items, and recommends by their own ids.

    Parameters
    ----------
    bits : int, default 64
        Length of the codes: a multiple of 8 from 8 to 512.
    model : DistilledFM or DiscreteFM, optional
        The model to fit, in place of ``bits``, ``random_state``, ``n_jobs`` and ``verbose``. Its features always meet
        across users, context and items, never within one of them. By default a `DistilledFM`.
    kinds : mapping of column to kind, optional
        What columns are, where it is not what they look like: ``{"zip": "ignore", "item.year": "number"}``; see
        `bitfm.data.kind_of`. A column is called by its name, or by ``user.``, ``item.`` or ``context.`` and its name.
    history, raters : bool, default True
        Whether users have the items they have rated as features, and items the users who have rated them.
    negatives : int, default 4
        For events: how many items are drawn against each.
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
    """

    def __init__(
        self,
        bits: int = 64,
        *,
        model: DistilledFM | DiscreteFM | None = None,
        kinds: Mapping[str, Any] | None = None,
        history: bool = True,
        raters: bool = True,
        negatives: int = 4,
        user_tower: str = "stored",
        random_state: int = 0,
        n_jobs: int | None = -1,
        verbose: int = 0,
    ) -> None:
        self.bits = bits
        self.model = model
        self.kinds = kinds
        self.history = history
        self.raters = raters
        self.negatives = negatives
        self.user_tower = user_tower
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.notes: dict[str, str] = {}
        self._state: State | None = None
        self.held_out: HeldOut | None = None
        self._columns: list[ColumnNote] = []
        self._examples: tuple[Blocks, npt.NDArray[np.float64]] | None = None
        self._changing = threading.Lock()  # one change at a time, each on top of the last; queries do not wait

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_changing", "_examples")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state
        self._examples = None
        self._changing = threading.Lock()

    def __repr__(self) -> str:
        if self._state is None:
            return f"Recommender({self.bits} bits, not fitted)"
        state = self._state
        thing = "events" if state.target is None else "ratings"
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
        title: str | None = None,
        callback: Callback | None = None,
        keep_training_data: bool = False,
    ) -> Self:
        """Learn from tables: frames of Polars, pandas or Arrow, dictionaries of columns, or paths of files.

        Parameters
        ----------
        interactions : table, or Interactions
            One row per rating, or per event. Only the latest rating of a user and item counts, unless
            there is a context; events all count.
        users, items : table, optional
            One row per user, or item: what is known of them. Ids without interactions are known by it as well.
        user, item : str
            The columns of ids, in the interactions and in the tables of users and items.
        target : str or None, default "rating"
            The column of ratings. None: the rows are events, such as purchases, and items that a user has not chosen
            are drawn to count against them.
        context : sequence of str, optional
            Columns of the interactions that are known when one asks for recommendations, such as the weather.
        time : str, optional
            The column of times, to tell which of two ratings is the latest.
        title : str, optional
            The column of items to show beside their ids; by default one that is called ``title`` or ``name``.
        callback : called with an `Iteration` after each iteration; returning True stops the fit
        keep_training_data : bool, default False
            Whether to keep what the model is fitted to, for `training_data`.

        Raises
        ------
        TableError
            If a table cannot be used; the message names table, column and row. What was fitted before stays.
        """
        from bitfm.data.tables import as_frame
        from bitfm.recommender._fitting import Fitting

        if title is not None and items is None:
            raise ValueError(f"title={title!r} is a column of items, but there is no table of items; give items=.")
        given = Interactions.of(interactions, user=user, item=item, target=target, context=context, time=time)
        read, roles = given.latest(), given.roles
        reader = SideReader(self.kinds or {})
        of_users = None if users is None else as_frame("users", users)[0]
        of_items = None if items is None else as_frame("items", items)[0]
        user_side = reader.read("user", of_users, roles.user, read.users, read.integer_ids[0], None)
        item_side = reader.read("item", of_items, roles.item, read.items, read.integer_ids[1], title)
        columns = tuple(reader.columns("context", read.context)) if read.context is not None else ()
        reader.finish()
        fitting = Fitting(
            user_side,
            item_side,
            columns,
            read,
            self._model_to_fit(events=roles.target is None),
            bool(self.history),
            bool(self.raters),
            check_integer("negatives", self.negatives, 1, 1000),
            check_integer("random_state", self.random_state, 0),
            check_choice("user_tower", self.user_tower, tuple(USER_TOWERS.names())),
        )
        state = fitting.run(callback=callback)
        with self._changing:
            self._state, self._columns, self.held_out = state, reader.notes, given.held_out
            self._examples = fitting.training_examples if keep_training_data else None
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
        users : id, or sequence of ids
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
            Columns ``rank``, ``item``, ``score``, and ``title`` if there are titles; for several users, ``user`` first.
        """
        state = self.state
        single = _inputs.is_id(users)
        ids = [users] if single else list(users)
        indices = state.users.indices_of(ids)
        n = check_integer("n", n, 1)
        at = _query.context_of(state, self._told("context", context), len(ids))
        found = _query.best_for(state, indices, at, n, seen=seen, allow=allow, deny=deny)
        return _inputs.answer(state, found, None if single else ids)

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
            Items that are not known are passed over.
        features : mapping of column to value, optional
            Columns of the users' table; what is not given is missing.
        n, context, allow, deny : as for `recommend`
        """
        state = self.state
        found = _query.best_for_new(
            state,
            history,
            self._told("user", features),
            _query.context_of(state, self._told("context", context), 1),
            check_integer("n", n, 1),
            allow=allow,
            deny=deny,
        )
        return _inputs.answer(state, found, None)

    def similar_items(self, item: Any, n: int = 10) -> Any:
        """Return the items that the same users like.

        The score is the correlation, from user to user, of what the model says of the two items beyond what it says of
        any.
        """
        state = self.state
        found = _query.similar_items(state, _query.item_index(state, item), check_integer("n", n, 1))
        return _inputs.answer(state, _query.Found(found.items[None, :], found.scores[None, :]), None)

    def explain(self, user: Any, item: Any, *, context: Mapping[str, Any] | None = None) -> Explanation:
        """Take a score apart: the contribution of every feature and of every pair, by name.

        A user of None is an unknown one.
        """
        state = self.state
        number = -1 if user is None else int(state.users.indices_of([user])[0])
        at = _query.context_of(state, self._told("context", context), 1)
        return _query.explain(state, number, _query.item_index(state, item), at)

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
        model: FeatureModel | None = None,
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
        model : BiasModel or FM, optional
            Another model, fitted to `training_data` of the same interactions, to compare with. Its features must meet
            across blocks only: ``FM(pairs="across")``.
        """
        if model is not None and len(without):
            raise ValueError("evaluate: fields can be left out of the recommender's own model only; give no model=.")
        state = self.state
        k = check_integer("k", k, 1)
        parameters: Parameters = state.parameters if model is None else state.widened(model.parameters_)
        if len(without):
            parameters = without_fields(state.parameters, [without] if isinstance(without, str) else without)
        read = _inputs.interactions_of(state, test, "test")
        users, items = state.users.ids.indices(read.users), state.items.ids.indices(read.items)
        names = read.users.rank("dense").to_numpy() - 1  # tells those apart who are not known
        context = _inputs.contexts_of(state, read)
        by = check_choice("by", by, ("auto", "user", "interaction"))
        if read.target is None and (by == "interaction" or (by == "auto" and state.context)):
            return _evaluation.evaluate_each_event(state, parameters, users, items, context, k)
        if read.target is None:
            items = items.astype(np.int64)
            unknown = np.unique(read.items.filter(items < 0), return_inverse=True)[1]
            items[items < 0] = len(state.items) + unknown  # which nobody can find
            return _evaluation.evaluate_events(state, parameters, users, items, names, k)
        return _evaluation.evaluate_ratings(state, parameters, users, items, read.target, context, names, k)

    def interactions(self, table: Any) -> Interactions:
        """Read a table of interactions like the one that the recommender was fitted on."""
        return _inputs.interactions_of(self.state, table, "interactions")

    def training_data(self, interactions: Any = None) -> tuple[Blocks, npt.NDArray[np.float64]]:
        """Return interactions as `fit` gives them to the model: blocks and targets, for events with items drawn.

        Without a table it is what `fit` kept.
        """
        from bitfm.recommender._fitting import Fitting

        if interactions is None:
            if self._examples is None:
                raise ValueError("training_data: fit kept none; give the table, or fit with keep_training_data=True.")
            return self._examples
        state = self.state
        fitting = Fitting(
            state.users,
            state.items,
            state.context,
            self.interactions(interactions).latest(),
            None,
            ("user", "history") in state.sizes,
            ("item", "raters") in state.sizes,
            self.negatives,
            self.random_state,
            sizes=state.sizes,
        )
        return fitting.examples()

    def add_users(self, users: Any) -> Self:
        """Add users, or give known ones other values; columns as of the table that the recommender was fitted on."""
        ids, frame = _inputs.rows_of(self.state, "user", users)
        with self._changing:
            self._state = _changes.with_side_rows(self.state, "user", ids, frame)
        return self

    def add_items(self, items: Any) -> Self:
        """Add items, or give known ones other values; they are recommended from now on."""
        ids, frame = _inputs.rows_of(self.state, "item", items)
        with self._changing:
            self._state = _changes.with_side_rows(self.state, "item", ids, frame)
        return self

    def add_ratings(self, ratings: Any) -> Self:
        """Add ratings, or events, and solve anew for the codes of all users and items that they name.

        Everything else stays as it is. Users and items may be new. Of a user and an item, what was added last counts,
        whatever its time; within a table the latest, or the mean where there is a context.

        Parameters
        ----------
        ratings : table as for `fit`
            Columns of the context, and of the time, may be left out.
        """
        with self._changing:
            state = self.state
            read = _inputs.interactions_of(state, ratings, "ratings").latest()
            values = np.ones(len(read)) if read.target is None else read.target
            self._state = _changes.with_ratings(state, read.users, read.items, values, _inputs.contexts_of(state, read))
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
        kind = KINDS.get(state.model.kind)
        if kind is None:
            raise ModelFileError(f"the kind of model {state.model.kind!r} is not known here; install its package.")
        with persist.naming("the recommender's model"):
            return kind.from_record(state.model, state.parameters, state.index)

    def feature_name(self, field: str, feature: int) -> str:
        """Return what a feature of one of `Recommender.fields` stands for, for people to read."""
        for span in self.state.parameters.fields:
            if f"{span.block}.{span.name}" == field:
                return _query.FeatureNames(self.state)(span, feature).partition(": ")[2]
        raise ValueError(f"feature_name: there is no field {field!r}; the fields are {', '.join(self.fields)}.")

    def describe(self) -> Any:
        """Return what was made of the columns: a frame of side, column, kind, why, features and share of missing."""
        import polars as pl

        from bitfm.data.tables import in_kind

        names = ("side", "column", "kind", "why", "features", "missing")
        rows = {name: [getattr(note, name) for note in self._columns] for name in names}
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
        from bitfm import persist
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
    def of_state(
        cls,
        state: State,
        columns: list[ColumnNote],
        notes: dict[str, str],
        held_out: HeldOut | None,
        **settings: Any,
    ) -> Recommender:
        """Return a fitted recommender of its parts."""
        recommender = cls(**settings)
        recommender.held_out = held_out
        recommender._state, recommender._columns, recommender.notes = state, columns, notes
        return recommender

    @property
    def columns(self) -> list[ColumnNote]:
        """What was made of each column."""
        return self._columns

    def _model_to_fit(self, *, events: bool) -> DistilledFM | DiscreteFM:
        from sklearn.base import clone

        from bitfm.models import DiscreteFM, DistilledFM
        from bitfm.recommender._events import ANCHOR_STRENGTH, teacher_of_events

        model = self.model
        if model is None:
            model = DistilledFM(self.bits, random_state=self.random_state, n_jobs=self.n_jobs, verbose=self.verbose)
        elif not isinstance(model, DistilledFM | DiscreteFM):
            raise TypeError(f"model must be a DistilledFM, a DiscreteFM or None, got {type(model).__name__}.")
        model = clone(model)
        if events and isinstance(model, DistilledFM):
            model.teacher = teacher_of_events() if model.teacher is None else model.teacher
            if model.anchor_strength == "auto":
                model.anchor_strength = ANCHOR_STRENGTH
        model.pairs = "across"
        return model

    @property
    def state(self) -> State:
        """What was learnt: sides, parameters and index, as one immutable value."""
        if self._state is None:
            raise NotFittedError("This Recommender is not fitted yet: call fit with a table of interactions first.")
        return self._state

    def _told(self, side: str, values: Mapping[str, Any] | None) -> dict[str, Any]:
        """Leave out columns that the fit found to tell nothing."""
        ignored = {note.column for note in self._columns if note.side == side and not note.features}
        return {name: value for name, value in (values or {}).items() if name not in ignored}
