"""Douban movies: groups and location of a user; directors, actors and types of a movie."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
from bitfm.data.feature_table import FeatureTable

from bitfm_research.bench.ratings import Ratings


def read_douban(folder: Path) -> Ratings:
    """Read ``douban-movie/douban.mat``."""
    path = str(folder / "douban-movie" / "douban.mat")  # SciPy names a missing file only if it is a string
    relations = scipy.io.loadmat(path)["relation"][0]
    rated, _friends, groups, location, directors, actors, types = (relation.tocoo() for relation in relations)
    return Ratings(
        rated.row.astype(np.int32),
        rated.col.astype(np.int32),
        rated.data.astype(np.float64),
        user_fields={"groups": _unit(groups), "location": _unit(location)},
        item_fields={"directors": _unit(directors), "actors": _unit(actors), "types": _unit(types)},
    )


def _unit(relation: Any) -> FeatureTable:
    return FeatureTable.unit_rows(relation.row, relation.col, relation.shape)
