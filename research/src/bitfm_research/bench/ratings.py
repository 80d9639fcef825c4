"""What a reader of a data set returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from bitfm.data.feature_table import FeatureTable


@dataclass(frozen=True)
class Ratings:
    """All ratings of a data set, and the side tables of its users and items by field name.

    Users and items are numbered from 0: row i of a side table is user or item i. ``train`` is the mask of the training
    part, where a data set comes with one.
    """

    users: npt.NDArray[np.int32]
    items: npt.NDArray[np.int32]
    ratings: npt.NDArray[np.float64]
    user_fields: dict[str, FeatureTable] = field(default_factory=dict)
    item_fields: dict[str, FeatureTable] = field(default_factory=dict)
    train: npt.NDArray[np.bool_] | None = None
