"""The paper's two sets on its own splits, ids only; and sets with features, prepared as the paper prepares its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from bitfm.data.feature_table import FeatureTable
from bitfm.errors import DataFileError
from bitfm.evaluation import split_per_user

from bitfm_research.bench.datasets import READERS, Split, Triples, load
from bitfm_research.bench.readers import Ratings
from bitfm_research.paper.event_data import load_events
from bitfm_research.paper.names import EVENTS, FROM_DUMPS, WITH_IDS
from bitfm_research.prepare import BadLines, MovieLens, Prepared, RatingBatch, Source, TextBatch, prepare
from bitfm_research.prepare.source import NO_TIME

__all__ = ["ITEM_FIELDS", "NAMES", "find_data", "load_split", "sampled"]

# Of items, as in the paper.
ITEM_FIELDS = {
    "ml-1m": ("words",),
    "douban": ("directors", "actors", "types"),
    **dict.fromkeys(FROM_DUMPS, ("words",)),
}
NAMES = (*WITH_IDS, *ITEM_FIELDS, *EVENTS)

_FILES = {
    "yelp": ("paper/train_yelp.mat", "paper/test_yelp.mat"),
    "amazon": ("paper/train_amazon.mat", "paper/test_amazon.mat"),
    "ml-1m": ("ml-1m/ml-1m.zip", "ml-1m/movies_extrainfos.dat"),
    "douban": ("douban-movie/douban.mat",),
    **{name: (f"{name}/prepared.json",) for name in FROM_DUMPS},
    "citeulike-t": ("citeulike-t/users.dat", "citeulike-t/mult.dat", "citeulike-t/tag-item.dat"),
    "frappe": ("frappe/Mobile_Frappe.zip",),
}


def find_data(folder: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the folder of all data sets and which are there, given it or the paper's folder in it."""
    root = folder.resolve().parent if (folder / "train_yelp.mat").exists() else folder
    found = tuple(name for name, files in _FILES.items() if all((root / file).exists() for file in files))
    if not found:
        wanted = "; ".join(" and ".join(files) for files in _FILES.values())
        raise FileNotFoundError(f"{folder} has none of the data sets; expected in it one of {wanted}")
    return root, found


def load_split(name: str, root: Path, seed: int) -> Split:
    """Read a data set: Yelp and Amazon on the published split, the others half of each user's ratings to train on."""
    if name in WITH_IDS:
        return load(name, root, seed)
    if name in EVENTS:
        return load_events(name, root)
    data = Prepared.load(root / name) if name in FROM_DUMPS else prepare(_SOURCES[name](root))
    missing = [field for field in ITEM_FIELDS[name] if field not in data.item_tables()]
    if missing:
        raise DataFileError(f"{root / name} has no {', '.join(missing)}; prepare it from a dump that has reviews")
    train = split_per_user(data.users, 0.5, seed)
    users, items, ratings = data.users, data.items, data.ratings
    return Split(
        name,
        n_users=len(data.user_ids),
        n_items=len(data.item_ids),
        train=(users[train], items[train], ratings[train]),
        test=(users[~train], items[~train], ratings[~train]),
        item_fields={name: FeatureTable.of(name, table) for name, table in _fields(data).items()},
        protocol="prepared as in the paper; half of each user's ratings to train, half to test",
    )


def sampled(split: Split, n_users: int, seed: int) -> Split:
    """Return the ratings of some of the users and the items in them, for a first look."""
    if n_users >= split.n_users:
        return split
    chosen = np.zeros(split.n_users, bool)
    chosen[np.random.default_rng(seed).permutation(split.n_users)[:n_users]] = True
    rated = np.zeros(split.n_items, bool)
    for users, items, _ in (split.train, split.test):
        rated[items[chosen[users]]] = True
    user_number, item_number = (np.cumsum(some, dtype=np.int32) - 1 for some in (chosen, rated))

    def of_chosen(part: Triples) -> Triples:
        users, items, ratings = part
        mine = chosen[users]
        return user_number[users[mine]], item_number[items[mine]], ratings[mine]

    return replace(
        split,
        n_users=n_users,
        n_items=int(rated.sum()),
        train=of_chosen(split.train),
        test=of_chosen(split.test),
        item_fields={name: table.take(np.flatnonzero(rated)) for name, table in split.item_fields.items()},
        protocol=f"{split.protocol}; {n_users:,} of the users",
    )


def _fields(data: Prepared) -> dict[str, sp.csr_matrix]:
    return {name: table for name, (table, _) in data.item_tables().items()}


class _Plots(MovieLens):
    """MovieLens 1M with the plots of its movies."""

    def __init__(self, root: Path) -> None:
        super().__init__(root / "ml-1m" / "ml-1m.zip", root / "ml-1m" / "movies_extrainfos.dat")

    def texts(self, bad: BadLines) -> Iterator[TextBatch]:
        """Read the plots: the field before the last, which is a poster's address."""
        assert self.text_path is not None
        lines = [line.split("::") for line in self.text_path.read_text("utf-8").split("\n") if line]
        yield TextBatch([line[0] for line in lines], [line[-2] for line in lines], done=1.0)


class _Douban(Source):
    """Douban's ratings, with directors, actors and types of its movies."""

    kind = "douban"

    def __init__(self, root: Path) -> None:
        super().__init__(root / "douban-movie" / "douban.mat")
        self._data: Ratings = READERS["douban"](root)

    def ratings(self, bad: BadLines) -> Iterator[RatingBatch]:
        """Give all ratings at once."""
        data = self._data
        times = np.full(len(data.ratings), NO_TIME)
        yield RatingBatch([str(u) for u in data.users], [str(i) for i in data.items], data.ratings, times, done=1.0)

    def item_fields(self, item_ids: Sequence[str]) -> dict[str, tuple[sp.csr_matrix, list[str]]]:
        """Return the rows of these movies."""
        rows = np.array([int(item) for item in item_ids], int)
        fields = {name: self._data.item_fields[name].take(rows).to_csr() for name in ITEM_FIELDS["douban"]}
        return {name: (table, [str(column) for column in range(table.shape[1])]) for name, table in fields.items()}


_SOURCES: dict[str, Callable[[Path], Source]] = {"ml-1m": partial(_Plots), "douban": partial(_Douban)}
