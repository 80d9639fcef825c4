"""NDCG of every user, kept beside the results: what paired tests are made of."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from bitfm.atomic import atomic_write
from bitfm.errors import DataFileError
from bitfm.evaluation import PerUser

__all__ = ["AT_10", "MEAN_OVER_K", "UserScores"]

MEAN_OVER_K, AT_10 = 0, 1  # columns: NDCG@K averaged over K from 1 to 10, as the paper's averages are; and NDCG@10


class UserScores:
    """One small file per fit, each with two numbers for each user in single precision.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scores = UserScores(Path(folder))
    ...     for seed, value in enumerate([0.5, 0.75]):
    ...         each = PerUser(np.arange(3), np.full((3, 10), value), tuple(range(1, 11)))
    ...         scores.add("yelp", "DFM, paper", 8, seed, each)
    ...     scores.mean_over_seeds("yelp", "DFM, paper", 8, AT_10).values
    array([0.625, 0.625, 0.625])
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def add(self, dataset: str, method: str, bits: int | None, seed: int, each: PerUser) -> None:
        """Keep NDCG@1 to NDCG@10 of a fit, in two numbers per user."""
        table = each.table()
        both = np.column_stack([table.mean(axis=1), table[:, -1]]).astype(np.float32)
        path = self._path(dataset, method, bits, seed)
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as file:
            np.savez(file, users=np.asarray(each.users, np.int32), values=both)

    def copy(self, dataset: str, method: str, other: str, bits: int | None, seed: int) -> None:
        """Keep the numbers of a fit under another name as well."""
        with atomic_write(self._path(dataset, other, bits, seed)) as file:
            file.write(self._path(dataset, method, bits, seed).read_bytes())

    def mean_over_seeds(self, dataset: str, method: str, bits: int | None, column: int) -> PerUser | None:
        """Return a metric of every user, averaged over the seeds that were run; None if there is none."""
        paths = sorted(self.folder.glob(self._path(dataset, method, bits, None).relative_to(self.folder).as_posix()))
        parts = [_read(path) for path in paths]
        if not parts:
            return None
        users = parts[0][0]
        same = [values[:, column] for its, values in parts if np.array_equal(its, users)]
        return PerUser(users, np.mean(np.asarray(same, np.float64), axis=0))

    def mean(self, dataset: str, runs: Sequence[tuple[str, int | None]], column: int) -> PerUser | None:
        """Return a metric of every user, averaged over methods or lengths; None if one of them is missing."""
        found = [self.mean_over_seeds(dataset, method, bits, column) for method, bits in runs]
        known = [each for each in found if each is not None]
        if len(known) < len(found) or not known:
            return None
        return PerUser(known[0].users, np.mean([each.values for each in known], axis=0))

    def _path(self, dataset: str, method: str, bits: int | None, seed: int | None) -> Path:
        name = re.sub(r"[^a-z0-9.=]+", "-", method.lower())
        return self.folder / dataset / f"{name}_{bits or 'any'}_{'*' if seed is None else seed}.npz"


def _read(path: Path) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            users, values = arrays["users"], arrays["values"]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise DataFileError(f"{path} is not from a run ({error}); remove the folder to start anew") from None
    if values.shape != (len(users), 2):
        raise DataFileError(f"{path} has {values.shape} values for {len(users)} users; remove the folder to start anew")
    return users, values
