"""Search from several threads while others add, change and remove: ``python tests/attacks/races.py 600``.

``make tsan`` runs it on a core that ThreadSanitizer watches, which reports two threads that touch the same memory
without a lock between them. A report counts if the core has a frame in it: Python and NumPy, which are not built for
it, have reports of their own.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bitfm import Block, Recommender
from bitfm.data import FeatureTable, FieldSpan
from bitfm.parameters import CodeParameters, towers
from bitfm.retrieval import Index

Action = Callable[[np.random.Generator], None]

N_USERS, N_FEATURES, BITS = 300, 3000, 64
SEARCHERS, CHANGERS = 3, 2


@dataclass(frozen=True)
class Arena:
    """Something to search, and to change meanwhile."""

    name: str
    searches: list[Action]
    changes: list[Action]


def parameters_of(*fields: tuple[str, str, int]) -> CodeParameters:
    """Return random parameters of these blocks, fields and sizes."""
    rng, spans, start = np.random.default_rng(0), [], 0
    for block, name, size in fields:
        spans.append(FieldSpan(block, name, start, start + size))
        start += size
    codes, gains = rng.integers(0, 256, (start, BITS // 8), dtype=np.uint8), rng.random(start).astype(np.float32)
    return CodeParameters(tuple(spans), 0.0, rng.normal(size=start).astype(np.float32), codes, gains, "across")


def check(index: Index, positions: np.ndarray, scores: np.ndarray) -> None:
    """Refuse a result that no state of the catalogue can have had."""
    assert (np.diff(scores, axis=1) <= 0).all()
    assert positions.min() >= 0
    assert positions.max() < index.n_positions
    assert all(len(set(row)) == len(row) for row in positions.tolist())


def index_arena(name: str, index: Index, items: Callable[[np.random.Generator], object], n_threads: int = 1) -> Arena:
    """Search an index of so many items, which others change; `items` draws 50 of them."""
    fixed, mine, (users, _) = index.n_positions, threading.local(), towers(index.parameters, index.block)

    def search_many(rng: np.random.Generator) -> None:
        check(index, *index.search(rng.integers(N_USERS, size=400), 20, n_jobs=2))

    def search_one(rng: np.random.Generator) -> None:
        check(index, *index.search(rng.integers(N_USERS, size=1), 20, deny=rng.integers(fixed, size=9), n_jobs=1))

    def search_segment(rng: np.random.Generator) -> None:
        """Search the largest part of it by a team of threads, as a catalogue of millions would be."""
        segment = max(index.segments, key=lambda one: one.n_items)
        rows = users.rows("users", rng.integers(N_USERS, size=2), 1)
        check(index, *segment.search(segment.live, rows, (None, None), 20, n_threads))

    def add_and_remove(rng: np.random.Generator) -> None:
        mine.added = [*getattr(mine, "added", []), *index.add(items(rng)).tolist()]
        if len(mine.added) > 400:
            index.remove(mine.added[:200])
            del mine.added[:200]

    def change(rng: np.random.Generator) -> None:
        index.change(rng.choice(fixed, 50, replace=False), items(rng))

    searches = [search_many, search_one] if n_threads == 1 else [search_segment]
    return Arena(name, searches, [add_and_remove, change])


def recommender_arena() -> Arena:
    """Ask a recommender that is told of new users, items and ratings."""
    rng = np.random.default_rng(0)
    users, items = [f"u{u}" for u in range(60)], [f"i{i}" for i in range(80)]
    ids = {"user_id": rng.choice(users, 1500), "item_id": rng.choice(items, 1500), "rating": rng.integers(1, 6, 1500)}
    rec = Recommender(bits=16, n_jobs=2).fit(
        ids, items={"item_id": items, "genre": rng.choice(["tea", "rum", "gin"], len(items))}
    )

    def recommend(rng: np.random.Generator) -> None:
        assert len(rec.recommend(rng.choice(users, 5).tolist(), 4)) == 20

    def ask(rng: np.random.Generator) -> None:
        user, (item, other) = str(rng.choice(users)), rng.choice(items, 2, replace=False).tolist()
        assert len(rec.recommend(user, 3)) == len(rec.recommend_new([(item, 4.0), (other, 1.0)], n=3)) == 3
        assert len(rec.similar_items(item, 3)) == 3
        assert np.isfinite(rec.predict([(user, item)])).all()

    def add_ratings(rng: np.random.Generator) -> None:
        rows = [*rng.choice(users, 4).tolist(), f"new{rng.integers(30)}"]
        given = {"user_id": rows, "item_id": rng.choice(items, 5).tolist(), "rating": rng.integers(1, 6, 5).tolist()}
        rec.add_ratings(given)

    def add_rows(rng: np.random.Generator) -> None:
        rec.add_items({"item_id": [f"new{rng.integers(30)}"], "genre": ["gin"]})
        rec.add_users({"user_id": [f"new{rng.integers(30)}"]})

    def come_and_go(rng: np.random.Generator) -> None:
        mine = f"of thread {threading.get_ident()}"  # which no other removes
        rec.add_ratings({"user_id": [mine, mine], "item_id": [mine, str(rng.choice(items))], "rating": [5, 1]})
        rec.remove_interactions([(mine, mine)]).remove_items(mine).remove_users(mine)

    return Arena("recommender", [recommend, ask], [add_ratings, add_rows, come_and_go])


def arenas(share: float = 1.0) -> Iterator[Arena]:
    """Yield what there is to search, one after the other, or a share of it."""
    of_ids = parameters_of(("user", "id", N_USERS), ("item", "id", N_FEATURES))

    def some_ids(n: int) -> Callable[[np.random.Generator], np.ndarray]:
        return lambda rng: rng.integers(N_FEATURES, size=n)

    rng = np.random.default_rng(0)
    yield index_arena("codes", Index(of_ids, some_ids(int(20_000 * share))(rng)), some_ids(50))
    yield index_arena("codes, sharded", Index(of_ids, some_ids(int(600_000 * share))(rng)), some_ids(50), n_threads=4)
    rich = parameters_of(("user", "id", N_USERS), ("item", "id", N_FEATURES), ("item", "genre", 20))

    def some_rows(n: int) -> Callable[[np.random.Generator], Block]:
        def draw(rng: np.random.Generator) -> Block:
            fields = {"id": N_FEATURES, "genre": 20}
            return Block(
                np.arange(n), {f: FeatureTable.one_hot(rng.integers(size, size=n), size) for f, size in fields.items()}
            )

        return draw

    for mode, name in (("exact", "vectors"), ("codes", "row codes")):
        yield index_arena(name, Index(rich, some_rows(int(12_000 * share))(rng), mode=mode), some_rows(50))
    yield recommender_arena()


def fight(arena: Arena, seconds: float) -> tuple[Counter[str], list[str]]:
    """Let threads search and change, once at least; return how often, and what went wrong."""
    done, wrong, end = Counter[str](), list[str](), time.monotonic() + seconds
    counting = threading.Lock()

    def work(actions: list[Action], kind: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            while not wrong:
                actions[int(rng.integers(len(actions)))](rng)
                with counting:
                    done[kind] += 1
                if time.monotonic() > end:
                    break
        except Exception:
            wrong.append(traceback.format_exc())

    crowd = [(arena.searches, "searches", seed) for seed in range(SEARCHERS)]
    crowd += [(arena.changes, "changes", 100 + seed) for seed in range(CHANGERS)]
    threads = [threading.Thread(target=work, args=one) for one in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return done, wrong


def reports(text: str) -> tuple[int, list[str]]:
    """Return how many reports there are in a log of ThreadSanitizer, and those that the core is in."""
    parts = [part for part in text.split("=" * 18) if "WARNING: ThreadSanitizer" in part]
    return len(parts), [part for part in parts if re.search(r"^ +#.*\W_core\.", part, re.MULTILINE)]


def main(seconds: float, log: str = "") -> int:
    """Let all arenas have their share of the time; return how much went wrong. `log` is ThreadSanitizer's."""
    total, wrong = Counter[str](), 0
    everything = list(arenas())
    for arena in everything:
        done, failures = fight(arena, seconds / len(everything))
        print(f"{arena.name:16} {done['searches']:9,} searches {done['changes']:9,} changes", *failures, flush=True)
        total += done
        wrong += len(failures)
    print(f"{'in all':16} {total['searches']:9,} searches {total['changes']:9,} changes, {wrong} failures")
    if log:
        file = Path(f"{log}.{os.getpid()}")
        n, ours = reports(file.read_text() if file.exists() else "")
        print(*ours, f"{n} reports of ThreadSanitizer, {len(ours)} of them of the core", sep="\n")
        wrong += len(ours)
    return wrong


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), *sys.argv[2:]) > 0)
