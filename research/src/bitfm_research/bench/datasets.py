"""The real data sets, where they are at hand. They are never part of bitfm."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from bitfm.data import Block, Blocks, history, raters
from bitfm.data.feature_table import FeatureTable
from bitfm.evaluation import split_cold, split_per_user
from bitfm.validation import check_choice

from bitfm_research.bench.readers import Ratings, read_1m, read_100k, read_douban, read_paper

__all__ = ["Split", "data_folder", "load", "need_data"]

Triples: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]

READERS: dict[str, Callable[[Path], Ratings]] = {
    "ml-100k": read_100k,
    "ml-1m": read_1m,
    "douban": read_douban,
    "yelp": partial(read_paper, name="yelp"),
    "amazon": partial(read_paper, name="amazon"),
}


@dataclass(frozen=True)
class Split:
    """Ratings of one data set, split into training and test part, and what else is known of users and items."""

    name: str
    n_users: int
    n_items: int
    train: Triples
    test: Triples
    user_fields: dict[str, FeatureTable] = field(default_factory=dict)
    item_fields: dict[str, FeatureTable] = field(default_factory=dict)
    protocol: str = ""

    def validation(self, fraction: float = 0.1, seed: int = 0) -> Split:
        """Return the training part, split again: to choose by, without a look at the test part.

        A share of its ratings, drawn at random, is the test part of what is returned. Histories and raters there are
        of the ratings that remain.
        """
        n = len(self.train[2])
        held_out = np.zeros(n, bool)
        held_out[np.random.default_rng(seed).permutation(n)[: round(n * fraction)]] = True
        users, items, ratings = self.train
        return replace(
            self,
            train=(users[~held_out], items[~held_out], ratings[~held_out]),
            test=(users[held_out], items[held_out], ratings[held_out]),
            protocol=f"{fraction:.0%} of the training part to validate",
        )

    def blocks(self, part: str = "train", fields: Sequence[str] = ()) -> Blocks:
        """Return the users and items of a part: the named fields in their order, and the ids after them.

        Beside the data set's own fields there are ``"history"``, the items that a user has rated, and ``"raters"``,
        the users who have rated an item, both in the training part.
        """
        users, items, _ = getattr(self, part)
        for name in fields:
            if name not in self._user_tables and name not in self._item_tables:
                known = ", ".join([*self._user_tables, *self._item_tables])
                raise ValueError(f"{self.name} has no field {name!r}; there are {known}.")
        of_users = {name: self._user_tables[name] for name in fields if name in self._user_tables}
        of_items = {name: self._item_tables[name] for name in fields if name in self._item_tables}
        return Blocks(
            user=Block(users, {**of_users, "id": FeatureTable.eye(self.n_users)}),
            item=Block(items, {**of_items, "id": FeatureTable.eye(self.n_items)}),
        )

    @cached_property
    def _user_tables(self) -> dict[str, FeatureTable]:
        return {**self.user_fields, "history": history(*self.train[:2], self.n_users, self.n_items)}

    @cached_property
    def _item_tables(self) -> dict[str, FeatureTable]:
        return {**self.item_fields, "raters": raters(*self.train[:2], self.n_users, self.n_items)}


def data_folder() -> Path | None:
    """Return the folder of the real data sets, which BITFM_DATA names."""
    named = os.environ.get("BITFM_DATA")
    return Path(named) if named and Path(named).is_dir() else None


def need_data(folder: Path | None) -> Path:
    """Return the folder, or say what to do."""
    folder = folder or data_folder()
    if folder is None or not folder.is_dir():
        raise FileNotFoundError("no data folder found: give --data, or set BITFM_DATA to where the data sets are")
    return folder


def load(name: str, folder: Path | None = None, seed: int = 0, cold_items: float | None = None) -> Split:
    """Read and split a data set.

    Parameters
    ----------
    name : "ml-100k", "ml-1m", "douban", "yelp" or "amazon"
        Side tables come with the first three. ``"yelp"`` and ``"amazon"`` are on the paper's split; of the others, half
        of each user's ratings are to train on.
    folder : Path, optional
        Where the data sets are; by default `data_folder`.
    seed : int, default 0
        Of the split.
    cold_items : float, optional
        Leave this share of the items out of the training part, and all others out of the test part.
    """
    data = READERS[check_choice("dataset", name, tuple(READERS))](need_data(folder))
    if data.train is not None:
        train, protocol = data.train, "the paper's split"
    else:
        train, protocol = split_per_user(data.users, 0.5, seed), "half of each user's ratings to train, half to test"
    test = ~train
    if cold_items is not None:
        warm = split_cold(data.items, cold_items, seed)
        train, test = train & warm, test & ~warm
        protocol += f"; {cold_items:.0%} of the items to test alone, all others to train"
    return Split(
        name,
        n_users=int(data.users.max()) + 1,
        n_items=int(data.items.max()) + 1,
        train=(data.users[train], data.items[train], data.ratings[train]),
        test=(data.users[test], data.items[test], data.ratings[test]),
        user_fields=data.user_fields,
        item_fields=data.item_fields,
        protocol=protocol,
    )
