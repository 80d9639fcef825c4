"""Interactions, read once: ids, targets, times and contexts, each checked and passed on."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from bitfm.data.files import quoted
from bitfm.data.formats import Choice, check_decimal, check_order
from bitfm.data.splits import split_by_time, split_cold, split_histories, split_per_user
from bitfm.data.tables import FrameKind, as_frame, ids_of, need_columns, need_rows, numbers_of, times_of, with_missing
from bitfm.data.texts import as_text
from bitfm.data.vocabulary import PackedStrings, Vocabulary
from bitfm.errors import BitfmWarning, EmptyTableError, TableError, ValueInTableError
from bitfm.validation import check_choice

__all__ = ["SPLITS", "ColumnRoles", "HeldOut", "Interactions"]

SPLITS = ("random", "time", "user")  # ways to hold a part out
_GIVEN = 0.8  # of what users that are held out have had


class ColumnRoles(NamedTuple):
    """Which columns of a table of interactions are what; without a target every row is an event.

    ``decimal`` is the decimal mark of targets, or weights, and ``dates`` the order of day and month in times, if they
    were given or found in strings; ``missing`` is what is done with rows without a target.

    Examples
    --------
    >>> ColumnRoles(user="reader", item="book").target
    'rating'
    """

    user: str = "user_id"
    item: str = "item_id"
    target: str | None = "rating"
    context: tuple[str, ...] = ()
    time: str | None = None
    event: str | None = None
    weight: str | None = None
    decimal: str | None = None
    dates: str | None = None
    missing: str = "drop"


class HeldOut(NamedTuple):
    """Which share of a table was held out, and how: enough to find it again.

    `rows` and `digest` are those of the table that was split; `by` is what `Interactions.split` was told.
    """

    share: float
    seed: int
    rows: int
    digest: str
    by: str = "random"

    def __str__(self) -> str:
        if self.by == "time":
            return f"the last {self.share:g} of all interactions held out, by time"
        if self.by == "user":
            users = f"{self.share:g} of the users held out, seed {self.seed}"
            return f"{users}, and asked with {_GIVEN:g} of their interactions"
        return f"{self.share:g} of each user's interactions held out, seed {self.seed}"


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """One row per interaction: a rating or an event of a user and an item. Make it with `of`.

    Attributes
    ----------
    users, items : polars.Series of str
    integer_ids : tuple of two bool
        Whether ids of users, and of items, came as integers and are to go out as such.
    target : array of float64 or None
        The ratings; None for events.
    times : array of int64 or None
        Seconds since 1970.
    context : polars.DataFrame or None
        What else is known of each interaction.
    roles : ColumnRoles
        The columns that all this is from.
    frames : FrameKind
        The library that results go back to.
    held_out : HeldOut or None
        Of a part that `split` made: what the other part is.
    kinds : polars.Series of str or None
        Of events: what each is, such as ``"view"``.
    weights : array of float64 or None
        Of events: how much each counts.
    formats : tuple of Choice by column
        How numbers and times were read that are strings of two readings.
    given : Interactions or None
        Of a part that `split` held out by whole users: their other interactions, which they are folded in with.

    Examples
    --------
    >>> ratings = {"user_id": [7, 7, 8, 7], "item_id": ["tea", "milk", "tea", "tea"], "rating": [5, 2, 4, 1]}
    >>> interactions = Interactions.of(ratings)
    >>> interactions
    Interactions(4 ratings)
    >>> len(interactions.latest())
    3
    >>> train, test = interactions.latest().split(0.5, seed=0)
    >>> len(train), len(test), str(train.held_out)
    (2, 1, "0.5 of each user's interactions held out, seed 0")
    """

    users: pl.Series
    items: pl.Series
    integer_ids: tuple[bool, bool]
    target: npt.NDArray[np.float64] | None
    times: npt.NDArray[np.int64] | None
    context: pl.DataFrame | None
    roles: ColumnRoles
    frames: FrameKind
    held_out: HeldOut | None = None
    distinct: bool = False  # whether a pair of user and item occurs once: `latest` has been taken
    kinds: pl.Series | None = None
    weights: npt.NDArray[np.float64] | None = None
    given: Interactions | None = None
    formats: tuple[tuple[str, Choice], ...] = ()

    @classmethod
    def of(
        cls,
        table: Any,
        *,
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
        what: str = "interactions",
        optional: Sequence[str] = (),
    ) -> Interactions:
        """Read a table: a frame of Polars, pandas or Arrow, a dictionary of columns, or the path of a file.

        Parameters
        ----------
        table
            Interactions are returned as they are.
        user, item, target, context, time, event, weight, decimal, dates, missing
            As for `Recommender.fit`.
        what : str, default "interactions"
            What the table is, for messages.
        optional : sequence of str, optional
            Columns that the table may lack, whose values are then missing.
        """
        if isinstance(table, Interactions):
            return table
        context = (context,) if isinstance(context, str) else tuple(context)
        if len(set(context)) < len(context):
            raise ValueError(f"context: {', '.join(map(repr, context))} names a column twice; name each once.")
        check_choice("missing", missing, ("drop", "error"))
        check_decimal("decimal", decimal)
        check_order("dates", dates)
        frame, frames = as_frame(what, table, decimal)
        absent = [name for name in optional if name not in frame.columns]
        frame = with_missing(frame, [name for name in absent if name in context])
        time, event, weight = (None if name in absent else name for name in (time, event, weight))
        if target is not None and (event or weight):
            name, column = ("event", event) if event else ("weight", weight)
            raise ValueError(f"{name}={column!r} says how much events count; ratings have target= alone.")
        columns = {"user": user, "item": item, "target": target, "time": time, "event": event, "weight": weight}
        for role, column in columns.items():
            if column is not None:
                need_columns(what, frame, [column], f"name the right one with {role}= (--{role})")
        need_columns(what, frame, context)
        need_rows(what, frame)
        users, items = ids_of(what, frame, user), ids_of(what, frame, item)
        ratings = weights = times = None
        found: list[tuple[str, Choice | None]] = []
        if target is not None:
            ratings, decimal, mark = numbers_of(what, frame, target, decimal, allow_missing=missing == "drop")
            found.append((target, mark))
        elif weight is not None:
            weights, decimal, mark = numbers_of(what, frame, weight, decimal)
            found.append((weight, mark))
        if time is not None:
            times, dates, order = times_of(what, frame, time, dates)
            found.append((time, order))
        formats = tuple((column, choice) for column, choice in found if choice is not None)
        _warn_of_open(what, formats)
        read = cls(
            users.text,
            items.text,
            (users.whole, items.whole),
            ratings,
            times,
            frame[list(context)] if context else None,
            ColumnRoles(user, item, target, context, time, event, weight, decimal, dates, missing),
            frames,
            kinds=None if event is None else _kinds_of(what, frame, event),
            weights=weights,
            formats=formats,
        )
        return read if ratings is None else read._with_ratings(what, ~np.isnan(ratings))

    def __repr__(self) -> str:
        return f"Interactions({len(self)} {'events' if self.target is None else 'ratings'})"

    def __len__(self) -> int:
        return len(self.users)

    def take(self, rows: npt.NDArray[Any]) -> Interactions:
        """Return some of the rows, by index or by mask."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(
            self,
            users=self.users[rows],
            items=self.items[rows],
            target=None if self.target is None else self.target[rows],
            times=None if self.times is None else self.times[rows],
            context=None if self.context is None else pl.DataFrame([column[rows] for column in self.context]),
            kinds=None if self.kinds is None else self.kinds[rows],
            weights=None if self.weights is None else self.weights[rows],
        )

    def _with_ratings(self, what: str, rated: npt.NDArray[np.bool_]) -> Interactions:
        """Return the rows that have a rating, and warn of the others."""
        dropped = len(rated) - int(np.count_nonzero(rated))
        if not dropped:
            return self
        column = f"{what}, column {quoted(self.roles.target)}"
        if dropped == len(rated):
            raise EmptyTableError(f"{column}: all {dropped:,} ratings are missing; without ratings, give target=None")
        told = f"{column}: dropped {dropped:,} of {len(rated):,} rows, whose rating is missing"
        warnings.warn(f"{told}; missing='error' (--missing error) refuses them", BitfmWarning, stacklevel=3)
        return self.take(rated)

    def latest(self) -> Interactions:
        """Return the latest rating of each user and item: by time, or else the last row.

        Where there is a context, or no target, every row counts.
        """
        if self.distinct or self.target is None or self.context is not None:
            return self
        users, items = (Vocabulary.of(ids).indices(ids).astype(np.int64) for ids in (self.users, self.items))
        order = np.arange(len(self)) if self.times is None else np.argsort(self.times, kind="stable")
        pairs = (users * (items.max(initial=0) + 1) + items)[order]
        places = np.argsort(pairs)  # in any order where pairs are equal, which takes less time than in a stable one
        last = np.maximum.reduceat(places, np.flatnonzero(np.diff(pairs[places], prepend=-1)))
        kept = self if len(last) == len(self) else self.take(np.sort(order[last]))
        return replace(kept, distinct=True)

    def split(self, share: float, seed: int = 0, *, by: str = "random") -> tuple[Interactions, Interactions]:
        """Hold a share out; return what is left to train on, and what is held out to test on.

        Take `latest` before, or else an earlier rating of a pair could be trained on and the latest tested on.

        Parameters
        ----------
        share : float
            How much to hold out, above 0 and below 1.
        seed : int, default 0
            The same seed gives the same split.
        by : {"random", "time", "user"}, default "random"
            What to hold out: random interactions of each user; all interactions after a moment, so that nothing of the
            future is trained on; or whole users. Of these, the part to test on has the last fifth of their
            interactions, or a random one without times; `given` has the rest, which `Recommender.evaluate` folds them
            in with.
        """
        by = check_choice("by", by, SPLITS)
        return self._parts(HeldOut(share, seed, len(self), self.digest(times=by == "time"), by))

    def split_as(self, held_out: HeldOut) -> tuple[Interactions, Interactions]:
        """Split as another table was, which must have had the same users and items in the same order."""
        if (held_out.rows, held_out.digest) != (len(self), self.digest(times=held_out.by == "time")):
            things = "users, items and times" if held_out.by == "time" else "users and items"
            how = f"has other {things}, or another order of rows, than the table that was split"
            if held_out.rows != len(self):
                how = f"has {len(self):,} rows, but {held_out.rows:,} were split"
            raise TableError(
                f"interactions: the table {how}, so the part that was held out cannot be found; give the same table "
                "in the same order."
            )
        return self._parts(held_out)

    def _parts(self, held_out: HeldOut) -> tuple[Interactions, Interactions]:
        users, share, seed = Vocabulary.of(self.users).indices(self.users), held_out.share, held_out.seed
        if held_out.by == "time":
            if self.times is None:
                raise ValueError("split: to split by time, name the column of times with time= (--time).")
            train = split_by_time(self.times, 1 - share)
        elif held_out.by == "user":
            train = split_cold(users, share, seed)
        else:
            train = split_per_user(users, 1 - share, seed)
        learnt, unseen = replace(self.take(train), held_out=held_out), self.take(~train)
        if held_out.by != "user":
            return learnt, unseen
        if not len(unseen) or not len(learnt):
            few = f"a share of {share:g} of {users.max(initial=-1) + 1:,} users"
            raise ValueError(f"split: {few} leaves none to train on, or none to test on; give another share.")
        given = split_histories(users[~train], unseen.times, _GIVEN, seed)
        return learnt, replace(unseen.take(~given), given=unseen.take(given))

    def digest(self, *, times: bool = False) -> str:
        """Return what tells these ids, and their times if need be, from others, whatever format they were kept in."""
        digest = hashlib.blake2b(digest_size=8)
        for ids in (self.users, self.items):
            packed = PackedStrings.of(ids)
            digest.update(np.diff(packed.offsets).astype("<u4").tobytes())  # where one id ends
            digest.update(packed.data.data)
        if times and self.times is not None:
            digest.update(self.times.astype("<i8").tobytes())
        return digest.hexdigest()


def _warn_of_open(what: str, formats: Sequence[tuple[str, Choice]]) -> None:
    """Warn of columns whose values have two readings, of which nothing decides for one."""
    for column, choice in formats:
        if not choice.decided:
            option = "dates" if choice.value in ("dmy", "mdy") else "decimal"
            told = f"{what}, column {quoted(column)}: {choice.reading}, as nothing decides, such as {choice.example!r}"
            warnings.warn(f"{told}; {option}= (--{option}) says which it is", BitfmWarning, stacklevel=3)


def _kinds_of(what: str, frame: pl.DataFrame, column: str) -> pl.Series:
    """Return what each event is, which must be said of all."""
    kinds = as_text(frame[column])
    if kinds.null_count():
        row = int(kinds.is_null().arg_true()[0])
        raise ValueInTableError(
            f"{what}, column {quoted(column)}: nothing says what the event of row {row + 1} is; fill it in, or drop it."
        )
    return kinds
