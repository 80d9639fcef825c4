"""How fast the best items are found among some of a million, beside all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from bitfm.parameters import TowerRows, towers
from bitfm.retrieval import Index

from bitfm_research.bench._comparison import compare_times
from bitfm_research.bench.events.search import generated_events, generated_histories
from bitfm_research.bench.generated import BITS, generated_codes, generated_features
from bitfm_research.bench.measure import Row

__all__ = ["filters"]

_SHARES = 0.01, 0.1, 0.9
_TOP, _QUERIES = 10, 50


def filters(say: Callable[[str], None], n_items: int = 1_000_000) -> Iterator[tuple[str, list[Row]]]:
    """Search for one query after another: without a filter, by a new one, and by one that was asked for before."""
    title = f"The best {_TOP} of {n_items:,} generated items, one query after another: "
    say(f"generate {n_items:,} items of {BITS} bits")
    model = generated_codes(_QUERIES, n_items)
    yield title + f"ratings, codes of {BITS} bits", _compared(model.index(), _rows(model.parameters_))
    say(f"generate {n_items:,} items with ten features each")
    model, items = generated_features(_QUERIES, n_items)
    yield title + "ratings, items with features", _compared(model.index(items), _rows(model.parameters_))
    say("generate a million items with neighbours")
    rng = np.random.default_rng(0)
    parameters, popular = generated_events(rng)
    histories = generated_histories(rng, popular)
    rows = [parameters.rows(histories.take(np.array([query]))) for query in range(_QUERIES)]
    yield title + "events, codes of 256 bits with neighbours", _compared(Index(parameters), rows)


def _rows(parameters: Any) -> list[TowerRows]:
    users = towers(parameters, "item")[0]
    return [users.rows("users", np.array([query]), 1) for query in range(_QUERIES)]


def _compared(index: Index, rows: list[TowerRows]) -> list[Row]:
    rng = np.random.default_rng(1)
    methods: dict[str, Callable[[], Any]] = {
        "no filter": lambda: [index.search_rows(row, _TOP, n_jobs=1) for row in rows]
    }
    for share in _SHARES:
        allowed = rng.random(index.n_positions) < share
        selection = index.select(allow=allowed)
        copied = index.compact(selection)
        named = {"not asked for before": selection, "asked for again": copied}
        for name, within in named.items():
            methods[f"{share:.0%} of the items, {name}"] = lambda within=within: [  # type: ignore[misc]
                index.search_rows(row, _TOP, within=within, n_jobs=1) for row in rows
            ]
    table = compare_times("one query after another", len(rows), methods)
    return [{key: value for key, value in row.items() if key != "what"} for row in table]
