"""The real data sets, where they are at hand. They are never part of bitfm."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.io

from bitfm.data._tables import Table
from bitfm.data.blocks import Block, Blocks

__all__ = ["Split", "data_folder", "load_paper", "need_data"]


@dataclass(frozen=True)
class Split:
    """Ratings of one data set, split into training and test part."""

    name: str
    n_users: int
    n_items: int
    train: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]
    test: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]

    def blocks(self, part: str = "train") -> Blocks:
        """Return the users' and items' bare ids."""
        users, items, _ = getattr(self, part)
        return Blocks(
            user=Block(users, {"id": Table.eye(self.n_users)}),
            item=Block(items, {"id": Table.eye(self.n_items)}),
        )


def data_folder() -> Path | None:
    """Return the folder of the real data sets: BITFM_DATA, or else ../shared/data."""
    named = os.environ.get("BITFM_DATA")
    if named:
        return Path(named) if Path(named).is_dir() else None
    beside = Path.cwd().parent / "shared" / "data"
    return beside if beside.is_dir() else None


def need_data(folder: Path | None) -> Path:
    """Return the folder, or say what to do."""
    folder = folder or data_folder()
    if folder is None or not folder.is_dir():
        raise FileNotFoundError("no data folder found: give --data, or set BITFM_DATA to where the data sets are")
    return folder


def load_paper(name: str, folder: Path | None = None) -> Split:
    """Read one of the paper's two sets, ``"yelp"`` or ``"amazon"``, on the paper's split."""
    base = need_data(folder) / "paper"
    parts: dict[str, Any] = {}
    for part in ("train", "test"):
        path = base / f"{part}_{name}.mat"
        if not path.is_file():
            raise FileNotFoundError(f"{path} is missing: the paper's sets are 'yelp' and 'amazon'")
        parts[part] = scipy.io.loadmat(path)[f"{part}_{name}_Matrix"].tocoo()
    shape = parts["train"].shape
    triples = {
        part: (m.row.astype(np.int32), m.col.astype(np.int32), m.data.astype(np.float64)) for part, m in parts.items()
    }
    return Split(name, shape[0], shape[1], triples["train"], triples["test"])
