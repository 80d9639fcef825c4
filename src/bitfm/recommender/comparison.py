"""Two recommenders on the same interactions, compared user by user."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bitfm.data.files import quoted
from bitfm.data.interactions import Interactions
from bitfm.errors import EmptyTableError
from bitfm.html import table
from bitfm.recommender._evaluation import Evaluation
from bitfm.recommender._inputs import interactions_of
from bitfm.recommender._measuring import evaluate, is_liked, is_ranked_by_interaction
from bitfm.recommender._state import State
from bitfm.recommender.recommender import Recommender
from bitfm.validation import check_choice, check_integer

if TYPE_CHECKING:
    from bitfm.evaluation import Comparison

__all__ = ["ModelComparison", "compare"]

# Each model measures these by what it has learnt itself, so that those of two do not compare.
_OWN = ("novelty", "diversity")


@dataclass(frozen=True)
class ModelComparison:
    """What `compare` found.

    Attributes
    ----------
    first, second : Evaluation
        How good either is, on the same interactions.
    tests : mapping of measure to Comparison
        The difference of the first and the second, its interval and its p-value, by the names of `Evaluation`.
    adjusted : mapping of measure to float
        The p-values, adjusted for the number of measures by Holm's method.
    unknown_users, unknown_items : pairs of int
        How many users and items of the table the first does not know, and the second. Such users are served without
        personalisation, and such items are never found, as they would be if the model were in use.
    left_out : int
        Interactions that were not tested on, since one of the models has learnt from them.

    Examples
    --------
    >>> from bitfm import Recommender, compare
    >>> from bitfm.data import Interactions
    >>> from bitfm.datasets import make_bookshop
    >>> shop = make_bookshop(n_readers=100, n_books=60, n_ratings=2000)
    >>> train, test = Interactions.of(shop.ratings, user="reader", item="title").split(0.5)
    >>> found = compare(Recommender(bits=32).fit(train), Recommender(bits=8).fit(train), test)
    >>> [row["measure"] for row in found.rows()]
    ['NDCG@10', 'RMSE', 'MAE']
    >>> found.left_out, found.unknown_users
    (0, (0, 0))
    """

    first: Evaluation
    second: Evaluation
    tests: Mapping[str, Comparison]
    adjusted: Mapping[str, float]
    unknown_users: tuple[int, int]
    unknown_items: tuple[int, int]
    left_out: int

    def rows(self) -> list[dict[str, Any]]:
        """Return one row per measure: both values, their difference with its interval, and the p-values."""
        rows = []
        for name, label in self.first.labels().items():
            pair = getattr(self.first, name), getattr(self.second, name)
            if None in pair or name in _OWN:
                continue
            row: dict[str, Any] = {"measure": label, "first": pair[0], "second": pair[1]}
            if name in self.tests:
                test = self.tests[name]
                row |= {"difference": test.difference, "low": test.low, "high": test.high}
                row |= {"p": test.p_value, "p adjusted": self.adjusted[name]}
            rows.append(row)
        return rows

    def _repr_html_(self) -> str:
        head = ("measure", "first", "second", "difference", "low", "high", "p", "p adjusted")
        rows = [[row.get(name) for name in head] for row in self.rows()]
        return table(rows, head=head, caption=f"Comparison on {self.first.interactions:,} interactions")


def compare(
    first: Recommender | str | os.PathLike[str],
    second: Recommender | str | os.PathLike[str],
    interactions: Any,
    *,
    k: int = 10,
    by: str = "auto",
    level: float = 0.95,
    seed: int = 0,
) -> ModelComparison:
    """Compare two recommenders on interactions, with a paired test over users.

    Both are measured on the same rows: what one of them has learnt from is left out for both. The test is that of
    `bitfm.evaluation.compare`: it says whether the difference is more than chance would make of these users.

    Parameters
    ----------
    first, second : Recommender, or path of its file
        Both of ratings, or both of events.
    interactions : table as for `Recommender.fit`
        What came later than the data of both, for example. Each reads it by the names of its own columns.
    k, by : as for `Recommender.evaluate`
        By default events are ranked one by one if one of the two has a context.
    level, seed : as for `bitfm.evaluation.compare`

    Returns
    -------
    ModelComparison
    """
    from bitfm.evaluation import compare as paired_test
    from bitfm.evaluation import holm

    k = check_integer("k", k, 1)
    by = check_choice("by", by, ("auto", "user", "interaction"))
    states = [_state(one) for one in (first, second)]
    if (states[0].target is None) != (states[1].target is None):
        kinds = ["events" if state.target is None else "ratings" for state in states]
        raise ValueError(f"compare: the first was fitted to {kinds[0]}, the second to {kinds[1]}; give two of a kind.")
    by_interaction = is_ranked_by_interaction(by, *states)
    tables = [_read(state, interactions) for state in states]
    _need_same_rows(*tables)
    known = np.zeros(len(tables[0]), bool)
    if states[0].target is not None or not by_interaction:
        for state, table in zip(states, tables, strict=True):
            known |= state.has_seen(table)
    kept = ~known
    if states[0].target is None:
        for state, table in zip(states, tables, strict=True):
            kept &= is_liked(state, table)
    if not kept.any():
        raise EmptyTableError("compare: no interaction is new to both models; give others, such as later ones.")
    by = "interaction" if by_interaction else "user"
    tests = [table.take(kept) for table in tables]
    found = [evaluate(state, test, k=k, by=by) for state, test in zip(states, tests, strict=True)]
    names = [name for name in found[0].measures if name not in _OWN and len(found[0].measures[name])]
    paired = {name: paired_test(*(one.measures[name] for one in found), level=level, seed=seed) for name in names}  # type: ignore[arg-type]
    adjusted = dict(zip(paired, holm([float(test.p_value) for test in paired.values()]), strict=True))
    users, items = (_unknown(states, side, tests[0]) for side in ("user", "item"))
    return ModelComparison(found[0], found[1], paired, adjusted, users, items, int(known.sum()))


def _state(given: Any) -> State:
    rec = given if isinstance(given, Recommender) else Recommender.load(given)
    rec.state.need_users("compare")
    return rec.state


def _read(state: State, table: Any) -> Interactions:
    """Read a table by the names of a model's columns, or take one that was read by such."""
    read = interactions_of(state, table, "interactions").latest()
    absent = set() if read.context is None else set(state.roles.context) - set(read.context.columns)
    if absent:
        raise ValueError(
            f"compare: the interactions were read without the context {', '.join(sorted(map(repr, absent)))}, which a "
            "model has; give the table itself."
        )
    return read


def _need_same_rows(first: Interactions, second: Interactions) -> None:
    if first.users.equals(second.users) and first.items.equals(second.items):
        return
    columns = [f"{quoted(one.roles.user)} and {quoted(one.roles.item)}" for one in (first, second)]
    raise ValueError(
        f"compare: the first reads other interactions from the columns {columns[0]} than the second from {columns[1]}; "
        "give two models of the same columns."
    )


def _unknown(states: Sequence[State], side: str, test: Interactions) -> tuple[int, int]:
    """Return how many users or items each of two does not know."""
    ids = (test.users if side == "user" else test.items).unique()
    first, second = (int((state.side(side).ids.indices(ids) < 0).sum()) for state in states)
    return first, second
