"""Tables in, recommendations out."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from bitfm import persist
from bitfm.data.blocks import Blocks
from bitfm.data.forks import need_threads
from bitfm.data.interactions import HeldOut, Interactions
from bitfm.errors import ModelFileError
from bitfm.recommender import _inputs, _measuring
from bitfm.recommender._changes import Changes
from bitfm.recommender._evaluation import Evaluation
from bitfm.recommender._html import state_html
from bitfm.recommender._locks import new_lock
from bitfm.recommender._queries import Queries
from bitfm.recommender._settings import Settings
from bitfm.recommender._state import State
from bitfm.recommender._views import Views
from bitfm.validation import check_integer

if TYPE_CHECKING:  # a query needs no estimator
    from bitfm.models import Callback, DiscreteFM, DistilledFM, ImplicitFM

__all__ = ["Recommender"]


@dataclass(eq=False, repr=False)
class Recommender(Settings, Queries, Views, Changes):
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
    verbose : int, optional
        1 prints one line per iteration, 0 nothing. By default a notebook shows a bar, unless `fit` has a callback.

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
    verbose: int | None = None

    notes: dict[str, str] = field(default_factory=dict, init=False)
    held_out: HeldOut | None = field(default=None, init=False)
    _state: State | None = field(default=None, init=False)
    _examples: tuple[Blocks, npt.NDArray[np.float64]] | None = field(default=None, init=False)
    _changing: threading.Lock = field(default_factory=new_lock, init=False)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("_changing", "_examples")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ |= state | {"_examples": None, "_changing": new_lock()}

    def __repr__(self) -> str:
        if self._state is None:
            return f"Recommender({'' if self.bits is None else f'{self.bits} bits, '}not fitted)"
        sizes = ", ".join(f"{count} {name}" for name, count in self._state.counts.items())
        return f"Recommender({sizes}, {self._state.parameters.bits} bits)"

    def _repr_html_(self) -> str | None:
        return None if self._state is None else state_html(self._state, self.held_out)

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
        filters: Sequence[str] | None = None,
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
        filters : sequence of str, optional
            The columns of items to keep as they are, for ``where=``, ``boost=`` and ``diversity=``; by default all but
            texts that hardly repeat, and vectors.
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

        for name, given in (("title", title), ("filters", filters)):
            if given and items is None:
                raise ValueError(f"{name}={given!r} is of items, but there is no table of items; give items=.")
        if isinstance(filters, str):
            raise TypeError(f"filters: expected a list of columns, got {filters!r}; give [{filters!r}].")
        need_threads("fit", "fit before the fork")
        roles: dict[str, Any] = {"user": user, "item": item, "target": target, "context": context, "time": time}
        roles |= {"event": event, "weight": weight, "decimal": decimal, "dates": dates}
        read = partial(Interactions.of, interactions, **roles, missing=missing)
        state, examples, held_out = fit_state(self, read, users, items, title, filters, callback, decimal, dates)
        with self._changing:
            self._state, self.held_out = state, held_out
            self._examples = examples if keep_training_data else None
        return self

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
        test : table as for `fit`, or Interactions
            Users whom `Interactions.split` held out with all they had are folded in by what is given of them.
        k : int, default 10
        without : sequence of str, optional
            Fields that the fitted model is to do without, such as ``"user.history"``, or whole blocks such as
            ``"context"``; see `Recommender.fields`.
        by : {"auto", "user", "interaction"}, default "auto"
            Of events: whether each user is to find all held-out items among those that are new to them, or each
            interaction its item among all, in its context. By default the second if there is a context.
        model : BiasModel, FM, ImplicitFM or "popularity", optional
            Another model, fitted to `training_data` of the same interactions, to compare with. Of ratings, its features
            must meet across blocks only: ``FM(pairs="across")``. Of events it may be anything with a ``recommend`` as
            that of `ImplicitFM`, or the ranking by how many users have had an item.
        """
        state, k = self.state, check_integer("k", k, 1)
        read = _inputs.interactions_of(state, test, "test")
        return _measuring.evaluate(state, read, k=k, by=by, model=model, without=without)

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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; see `bitfm.load`. Of ``model`` it keeps the settings, which are in `model_`.

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
