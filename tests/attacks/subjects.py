"""Small files of everything that bitfm saves, and what is asked of them once they have been damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

import bitfm
from attacks.mutators import File
from bitfm import (
    FM,
    BiasModel,
    BitfmError,
    Block,
    Blocks,
    DiscreteFM,
    Recommender,
    TableError,
    UnknownIdError,
)
from bitfm.data import FieldSpan
from bitfm.parameters import CodeParameters, ModelRecord
from problems import random_blocks

X = random_blocks("shared")
ITEMS, ITEM = (Block(np.arange(n) % 5, X.blocks["item"].tables) for n in (150, 1))
SIZES = [20, 170], [field.size for field in X.fields]  # of models that take the queries below
USERS = [*range(12), 98, 99, "nobody"]
RATINGS = {"u": [1, 2, 98], "i": ["i1", "i2", "i3"], "rating": [5, 3, 1], "c": ["wet", "dry", None]}


def rich_recommender() -> Recommender:
    """Return a recommender with columns of all kinds, titles, a context and ids that were added."""
    rng = np.random.default_rng(0)
    n = 150
    ratings = pl.DataFrame(
        {
            "u": rng.integers(12, size=n),
            "i": [f"i{one}" for one in rng.integers(10, size=n)],
            "rating": rng.integers(1, 6, n).astype(float),
            "c": ["wet", "dry", None] * 50,
        }
    )
    users = pl.DataFrame(
        {"u": range(12), "town": ["A", "B", None] * 4, "age": rng.random(12) * 60, "tags": [["x"], ["x", "y"], []] * 4}
    )
    items = pl.DataFrame(
        {
            "i": [f"i{one}" for one in range(10)],
            "title": [f"The book of {w}" for w in "abcdefgha"] + [None],
            "day": ["2020-01-05", "2021-02-07"] * 5,
        }
    )
    rec = Recommender(bits=16, n_jobs=1, kinds={"title": "text", "day": "date", "age": "standard"})
    rec.fit(ratings, users=users, items=items, user="u", item="i", context=["c"])
    rec.notes = {"source": "nowhere"}
    return rec.add_users({"u": [99], "town": ["B"]}).add_ratings({"u": [98], "i": ["new"], "rating": [4], "c": ["wet"]})


def bare_recommender() -> Recommender:
    """Return a recommender of events without any columns, whose items are codes."""
    rng = np.random.default_rng(1)
    events = {"u": rng.integers(12, size=150), "i": [f"i{one}" for one in rng.integers(10, size=150)]}
    return Recommender(bits=16, n_jobs=1).fit(events, user="u", item="i", target=None)


def use_rich(rec: Any) -> None:
    """Ask everything that reads a table."""
    check_answer(rec, rec.recommend(USERS, n=5, context={"c": "wet"}))
    check_answer(rec, rec.recommend(3, n=20, seen=True, allow=["i1", "i2"], deny=["new"]))
    features = {"town": "A", "age": 30, "tags": ["x"]}
    check_answer(rec, rec.recommend_new([("i1", 5), "i2"], features, context={"c": "dry"}))
    check_answer(rec, rec.similar_items("i1"))
    str(rec.explain(3, "i1", context={"c": "wet"}))
    assert rec.predict([(user, item) for user in USERS for item in ("i1", "new", None)]).shape == (45,)
    rec.evaluate(RATINGS, without=["user.town"])
    rec.training_data(RATINGS)
    rec.describe()
    repr(rec)
    _ = rec.model_
    rec.add_users({"u": [1, 500], "town": ["A", "C"], "age": [1, None]})
    rec.add_items({"i": ["i1", "i500"], "title": ["The book of b", None], "day": ["2020-01-05", "?"]})
    rec.add_ratings(RATINGS)
    check_answer(rec, rec.recommend([1, 500]))
    rec.remove_interactions(RATINGS).remove_users([3, 500]).remove_items(["i2", "i500"])
    check_answer(rec, rec.recommend([1, 5], n=20))


def use_bare(rec: Any) -> None:
    check_answer(rec, rec.recommend(3))
    check_answer(rec, rec.recommend(USERS, n=5))
    check_answer(rec, rec.recommend_new(["i1", "i2"]))
    check_answer(rec, rec.similar_items("i1"))
    str(rec.explain(3, "i1"))
    assert rec.predict([(3, "i1"), (99, "i2")]).shape == (2,)
    rec.add_events({"u": [1, 500], "i": ["i1", "i500"]})
    check_answer(rec, rec.recommend([1, 500]))
    rec.remove_interactions([(1, "i1")]).remove_users([3, 500]).remove_items(["i2", "i500"])
    check_answer(rec, rec.recommend([1, 5], n=20))


def check_answer(rec: Any, frame: Any) -> None:
    """Check that the items are those of the recommender, each once for each query."""
    ids = rec.state.items.ids_of(np.arange(rec.n_items)).to_list()
    frame = pl.DataFrame({name: frame[name].to_list() for name in frame.columns}, strict=False)
    assert set(frame["item"].to_list()) <= set(ids)
    if len(set(ids)) == len(ids):  # those of a damaged table may be the same
        of_query = frame.select(pl.col(set(frame.columns) & {"user", "item"}).cast(pl.String))
        assert of_query.is_unique().all()


def made_of(fields: tuple[FieldSpan, ...]) -> DiscreteFM:
    """Return a model of codes without a fit."""
    rng = np.random.default_rng(0)
    n = fields[-1].stop
    codes, gains = rng.integers(0, 256, (n, 2), dtype=np.uint8), rng.random(n).astype(np.float32)
    parameters = CodeParameters(fields, 3.5, rng.normal(size=n).astype(np.float32), codes, gains, "across")
    return DiscreteFM.from_record(ModelRecord("DiscreteFM", {"bits": 16, "max_iter": 1}, [], "codes"), parameters)


IDS = FieldSpan("user", "id", 0, 20), FieldSpan("item", "id", 20, 190)


def with_index(path: Path, kind: str) -> None:
    """Save a model with an index of this kind of segments, in two parts and with items removed."""
    model = made_of(IDS if kind == "codes" else X.fields)
    index = model.index() if kind == "codes" else model.index(ITEMS, mode="codes" if kind == "rows" else "exact")
    index.remove([1, 3])
    index.add([7] if kind == "codes" else ITEM)
    model.save(path, index=index)


def use_index(model: Any) -> None:
    if {field.block for field in model.fields_} != {"user", "item"}:
        return  # another model, which takes other queries
    index = model.index()
    n = index.n_positions
    users = np.arange(min(6, model.fields_[0].size))  # two damages may make one user less and one item more
    check_positions(index.search(users, 200)[0], n)
    check_positions(index.search(users[:1], 9, allow=np.arange(min(n, 5)), deny=[0])[0], n)
    index.remove([0])
    if index.segments and n < 10_000 and [f.size for f in model.fields_] in SIZES:
        index.change([2], [5] if len(model.fields_) == 2 else ITEM)
    check_positions(index.search(users, 200)[0], n)
    use_model(model)


def check_positions(positions: Any, n: int) -> None:
    for row in positions:
        found = row[row >= 0]
        assert found.max(initial=-1) < n
        assert len(np.unique(found)) == len(found)
        assert (row[len(found) :] == -1).all()


def use_model(model: Any) -> None:
    blocks = X
    if [f.size for f in model.fields_] not in SIZES:
        return  # as above
    if [f.size for f in model.fields_] == [20, 170]:
        blocks = Blocks(user=Block([1, 2], {"id": np.eye(20)}), item=Block([3, 4], {"id": np.eye(170)}))
    assert model.predict(blocks).shape == (len(blocks),)
    if hasattr(model, "explain"):
        str(model.explain(blocks[0]))
    repr(model)


@dataclass(frozen=True)
class Subject:
    """A file, and what to ask of what it holds."""

    name: str
    file: File
    use: Callable[[Any], None]

    def survives(self, raw: bytes, path: Path) -> str:
        """Open the bytes as a file and use it; say what came of it. Anything but an error that names it is raised."""
        path.unlink(missing_ok=True)  # a file that may still be mapped must not be rewritten in place
        path.write_bytes(raw)
        opened, refused = False, ""
        try:
            loaded = bitfm.load(path)
            opened = True
            self.use(loaded)
        except (TableError, UnknownIdError):  # an id or a column of the damaged file is called otherwise
            pass
        except BitfmError as error:
            refused = str(error)
        if not refused:
            return "answered"
        assert refused.count(str(path)) == 1, f"the error does not name the file, or does twice: {refused}"
        assert refused.endswith("."), refused
        return "refused later" if opened else "refused"


def _files() -> Iterator[tuple[str, Callable[[Path], None], Callable[[Any], None]]]:
    y = np.arange(len(X), dtype=float) % 5
    yield "rich recommender", lambda path: rich_recommender().save(path), use_rich
    yield "bare recommender", lambda path: bare_recommender().save(path), use_bare
    for kind in ("codes", "vectors", "rows"):
        yield f"index of {kind}", lambda path, kind=kind: with_index(path, kind), use_index
    for model in (BiasModel(max_iter=2), FM(rank=3, n_iter=2), FM(rank=3, solver="gibbs", n_iter=3, n_samples=2)):
        yield repr(model), lambda path, model=model: model.fit(X, y).save(path), use_model


@cache
def subjects() -> list[Subject]:
    """Return all files."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "whole.bitfm"
        made = []
        for name, save, use in _files():
            save(path)
            made.append(Subject(name, File(path.read_bytes()), use))
    return made
