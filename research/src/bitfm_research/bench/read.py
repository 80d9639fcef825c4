"""How fast a libFM file is read, next to scikit-learn."""

from __future__ import annotations

import importlib.metadata
import pathlib
import tempfile
import time
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import sklearn
from bitfm.data.libfm import read_libfm, write_libfm
from numpy.typing import NDArray
from scipy import sparse
from sklearn.datasets import load_svmlight_file

__all__ = ["run"]

_N_USERS, _N_ITEMS, _N_WORDS, _WORDS_PER_ROW = 50_000, 20_000, 30_000, 20
_BYTES_PER_ROW = 320
_Rows: TypeAlias = "tuple[sparse.csr_matrix[np.float64 | np.float32], NDArray[np.float64]]"


def run(*, megabytes: float = 50, repeat: int = 5) -> list[dict[str, object]]:
    """Read one generated file with bitfm and with scikit-learn, in turns.

    A row of the file holds a one-hot user, a one-hot item and about 20 words with real values of six digits.

    Parameters
    ----------
    megabytes
        The size of the file, roughly.
    repeat
        How often each reads it; the best time counts.

    Returns
    -------
    list of dict
        For each ``method`` its ``seconds``, ``mb_per_s``, ``ratio`` (its speed over scikit-learn's) and
        ``version``.
    """
    readers: dict[str, tuple[Callable[[pathlib.Path], _Rows], str]] = {
        "bitfm.read_libfm": (read_libfm, importlib.metadata.version("bitfm")),
        "sklearn.load_svmlight_file": (_read_with_sklearn, sklearn.__version__),
    }
    best = dict.fromkeys(readers, float("inf"))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "rows.libfm")
        write_libfm(path, *_rows(max(1, round(megabytes * 1e6 / _BYTES_PER_ROW))))
        size = path.stat().st_size / 1e6
        for _ in range(repeat):
            results = []
            for name, (read, _version) in readers.items():
                start = time.perf_counter()
                results.append(read(path))
                best[name] = min(best[name], time.perf_counter() - start)
            _check_same(*results)
    return [
        {
            "method": name,
            "seconds": best[name],
            "mb_per_s": size / best[name],
            "ratio": best["sklearn.load_svmlight_file"] / best[name],
            "version": version,
        }
        for name, (_read, version) in readers.items()
    ]


def _read_with_sklearn(path: pathlib.Path) -> _Rows:
    X, y = load_svmlight_file(path, zero_based=True)
    return X, y


def _rows(n_rows: int) -> _Rows:
    """Ratings of half stars with their features."""
    rng = np.random.default_rng(0)
    users = rng.integers(_N_USERS, size=n_rows)
    items = _N_USERS + rng.integers(_N_ITEMS, size=n_rows)
    words = _N_USERS + _N_ITEMS + rng.integers(_N_WORDS, size=(n_rows, _WORDS_PER_ROW))
    values = np.ones((n_rows, 2 + _WORDS_PER_ROW))
    values[:, 2:] = np.round(rng.random((n_rows, _WORDS_PER_ROW)), 6)
    indices = np.column_stack([users, items, words]).astype(np.int32)
    offsets = np.arange(n_rows + 1) * indices.shape[1]
    X = sparse.csr_matrix((values.ravel(), indices.ravel(), offsets))
    X.sum_duplicates()
    return X, rng.integers(1, 11, size=n_rows) / 2


def _check_same(ours: _Rows, theirs: _Rows) -> None:
    (X, y), (X2, y2) = ours, theirs
    pairs = ((y, y2), (X.indptr, X2.indptr), (X.indices, X2.indices), (X.data, X2.data))
    if X.shape != X2.shape or not all(np.array_equal(a, b) for a, b in pairs):
        raise RuntimeError("bitfm and scikit-learn read different matrices from the same file; report this")
