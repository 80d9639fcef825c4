"""Calls of the core with arguments that are wrong in some way: each is refused with a sentence, or has a result."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from attacks.mutators import FLOATS, pick
from bitfm import _core

N_USERS, N_ITEMS, WIDTH, BYTES = 9, 90, 16, 2
REFUSED = (ValueError, TypeError, MemoryError)
_TURNS = ("steps", "rounds", "passes", "n_draws", "n_flips")  # more of these take longer, as they should
_INTEGERS = [-(2**63), -(2**31), -1, 0, 1, 2, 7, N_USERS, N_ITEMS, 2**31 - 1, 2**31, 2**32 + 1, 2**62, 2**64, 10**30]
_OTHERS = [None, "x", 0.5, float("nan"), float("inf"), -1e300, True, [], {}, b"", object()]
_DTYPES = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.float16, np.float32, np.float64, np.bool_, object]


def _lists(rng: np.random.Generator, n: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Return where the members of each of n sets begin, and the members, in rising order."""
    has = rng.random((n, most)) < 0.4
    return np.concatenate([[0], np.cumsum(has.sum(1))]), np.nonzero(has)[1].astype(np.int32)


@cache
def calls() -> dict[str, dict[str, Any]]:
    """Return arguments that work, by the name of the function."""
    rng = np.random.default_rng(0)

    def reals(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    users, items = reals(N_USERS, WIDTH), reals(N_ITEMS, WIDTH)
    of_users, of_items = _lists(rng, N_USERS, N_ITEMS), _lists(rng, N_ITEMS, N_USERS)
    events = dict(zip(("start", "index"), of_users, strict=True)) | {"value": 1 + np.abs(reals(len(of_users[1])))}
    by_item = dict(zip(("start", "index"), of_items, strict=True)) | {"value": 1 + np.abs(reals(len(of_items[1])))}
    lists = dict(zip(("history_start", "history", "holder_start", "holder"), of_users + of_items, strict=True))
    system = {**events, "other": items, "unobserved": np.ones(WIDTH, np.float32), "ridge": np.ones(N_USERS, np.float32),
              "prior": reals(N_USERS, WIDTH), "out": reals(N_USERS, WIDTH)}  # fmt: skip
    n_events, size = len(events["index"]), 9
    decoded = {"users": users, "teacher": items, "decoded_users": reals(N_USERS, size),
               "decoded_teacher": reals(N_ITEMS, size), "unobserved_teacher": reals(N_ITEMS, size),
               "unobserved": np.eye(size, dtype=np.float32), "gram": np.eye(size, dtype=np.float32),
               "ridge": np.ones(N_ITEMS, np.float32), "bits": np.full(size - 1, 2, np.int32), "rounds": 2,
               "levels": np.sign(reals(N_ITEMS, size - 1)), "gains": np.ones(N_ITEMS, np.float32),
               "weights": reals(N_ITEMS), "objective": np.zeros(N_ITEMS)}  # fmt: skip
    coded = {"codes": rng.integers(0, 256, (N_ITEMS, BYTES), dtype=np.uint8), "gains": np.ones(N_ITEMS, np.float32)}
    positions = np.arange(N_ITEMS, dtype=np.int32)
    catalogue = _core.arrange_codes(**coded, biases=reals(N_ITEMS), positions=positions, weight=1.0)
    excluded = {"start": of_users[0], "excluded": of_users[1]}
    slots = np.empty(N_ITEMS, np.int32)
    slots[catalogue["position"][catalogue["position"] >= 0]] = np.flatnonzero(catalogue["position"] >= 0)
    queries = {"vectors": users, "constants": np.zeros(N_USERS)}
    scored = {"scored_start": of_users[0], "scored": of_users[1], "scores": reals(n_events), "slot_of": slots}
    threads = {"n_threads": 2}
    return {
        "solve_rows": system | {"leverage": reals(n_events)} | threads,
        "improve_rows": system | {"steps": 2} | threads,
        "score_events": events | {"rows": users, "other": items, "out": reals(n_events)} | threads,
        "sum_vectors": events | {"vectors": items, "out": reals(N_USERS, WIDTH)} | threads,
        "encode_levels": by_item | decoded | threads,
        "score_listed": coded | threads
        | {"weights": reals(N_ITEMS), "queries": users, "scales": np.ones(N_USERS), "start": of_users[0],
           "listed": of_users[1], "added": reals(n_events), "out": reals(n_events)},
        "find_neighbors": by_item | lists | threads
        | {"held_out": reals(len(of_items[1])), "plain": reals(len(of_items[1])), "items": items,
           "sums": reals(N_ITEMS, WIDTH), "unobserved": 0.4, "ridge": 2.0, "beta": 0.7, "candidates": 64,
           "neighbors": np.zeros((N_ITEMS, 3), np.int32), "values": reals(N_ITEMS, 3)},
        "best_of_scores": {"scores": reals(N_USERS, N_ITEMS), "n": 5} | excluded | threads,
        "search_with_scored": {"arrays": catalogue, "live": catalogue["live"], "n": 5}
        | queries | excluded | scored | threads,
        "find_strings": {"bytes": np.frombuffer(b"aabc", np.uint8), "offsets": np.arange(5), "texts": ["b", None, "x"]},
        "transpose32": {"n_columns": N_ITEMS, "indptr": of_users[0], "indices": of_users[1], "values": events["value"]},
        "column_sums32": {"values": users, "rows": of_items[1].astype(np.int64), "centre": np.zeros(WIDTH)},
        "rescore": {"positions": positions, "biases": reals(N_ITEMS), "vectors": items, "queries": users,
                    "constants": np.zeros(N_USERS), "candidates": rng.integers(-1, N_ITEMS, (N_USERS, 7)), "n": 3}
        | threads,
        "arrange_vectors": {"vectors": items, "biases": reals(N_ITEMS), "positions": positions,
                            "basis": np.eye(WIDTH)[:, :8].copy(), "weight": 1.0, "nibbles": True},
    }  # fmt: skip


def call(name: str, arguments: dict[str, Any]) -> None:
    """Call a function of the core."""
    if name == "search_with_scored":
        _core.CodeCatalogue(arguments.pop("arrays")).search_with_scored(**arguments)
    else:
        getattr(_core, name)(**arguments)


def _values(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Numbers that are out of range, too large, or none."""
    made = array.copy()
    if not made.size:
        return made
    at = rng.integers(made.size, size=pick(rng, [1, 1, 2, made.size]))
    if made.dtype.kind == "f":
        made.reshape(-1)[at] = pick(rng, FLOATS)
    else:
        bounds = np.iinfo(made.dtype)
        near = [-1, 0, 1, N_USERS - 1, N_USERS, N_ITEMS - 1, N_ITEMS, int(made.max()) + 1, bounds.min, bounds.max]
        made.reshape(-1)[at] = np.clip(pick(rng, near), bounds.min, bounds.max)
    return made


def _order(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same numbers, not in order, or one of them everywhere."""
    flat = array.reshape(-1)
    return np.ascontiguousarray(pick(rng, [flat[::-1], rng.permutation(flat), np.roll(flat, 1),
                                           flat[:1].repeat(flat.size)])).reshape(array.shape)  # fmt: skip


def _shape(array: np.ndarray, rng: np.random.Generator) -> Any:
    """More, fewer or no numbers, in more or fewer dimensions, some of them as long as they like."""
    ways: list[Callable[[], Any]] = [
        lambda: array[:-1].copy(), lambda: array[1:].copy(), lambda: np.concatenate([array, array]),
        lambda: array[:0].copy(), lambda: array[None], lambda: array.reshape(-1)[:1].reshape((1,) * array.ndim),
        lambda: np.repeat(array, 2, axis=0)[::2], lambda: array[::-1], lambda: array.ravel(),
    ]  # fmt: skip
    if array.ndim == 2:
        ways += [lambda: array[:, :-1].copy(), lambda: array.T.copy(), lambda: np.asfortranarray(array),
                 lambda: array[:, :0].copy(), lambda: np.empty((len(array), 0), array.dtype),
                 lambda: np.empty((0, 2 ** pick(rng, [31, 40, 56])), array.dtype),
                 lambda: np.empty((2 ** pick(rng, [31, 40, 56]), 0), array.dtype)]  # fmt: skip
    return pick(rng, ways)()


def _kind(array: np.ndarray, rng: np.random.Generator) -> Any:
    """Another type, another byte order, a list, an array that may not be written to, or nothing."""
    how = rng.integers(6)
    if how == 0:
        return array.tolist()
    if how == 1:
        return array.astype(array.dtype.newbyteorder())
    if how == 2:
        made = array.copy()
        made.flags.writeable = False
        return made
    with np.errstate(all="ignore"):
        return pick(rng, _OTHERS) if how == 3 else array.astype(pick(rng, _DTYPES))


def spoilt(name: str, value: Any, rng: np.random.Generator) -> Any:
    """Return something else in the place of an argument."""
    if isinstance(value, dict):
        name = pick(rng, list(value))
        return value | {name: spoilt(name, value[name], rng)}
    if isinstance(value, np.ndarray):
        return pick(rng, [_values, _values, _values, _order, _shape, _shape, _kind])(value, rng)
    return pick(rng, [*(_INTEGERS[:9] if name in _TURNS else _INTEGERS), *_OTHERS, *FLOATS])


def survives(name: str, seed: int) -> str:
    """Call with one to three arguments spoilt; return whether that worked or was refused."""
    rng, arguments = np.random.default_rng(seed), copy.deepcopy(calls()[name])
    for key in rng.permutation(list(arguments))[: pick(rng, [1, 1, 2, 3])].tolist():
        arguments[key] = spoilt(key, arguments[key], rng)
    said = None
    try:
        call(name, arguments)
    except REFUSED as error:
        said = str(error)
    assert said != "", "an error without a word"
    return "worked" if said is None else "refused"


def trial(number: int, folder: Path) -> tuple[str, Callable[[], str]]:
    """Return the name of a function, and a function that calls it wrongly."""
    name = list(calls())[number % len(calls())]
    return name, lambda: survives(name, number)
