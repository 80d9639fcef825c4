"""Read and write the text format of libFM and libSVM."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from bitfm import _core
from bitfm.atomic import atomic_write
from bitfm.data.feature_table import FeatureTable
from bitfm.data.files import open_raw, unpacked
from bitfm.errors import DataFileError
from bitfm.validation import check_integer

__all__ = ["read_libfm", "write_libfm"]

_READ_BYTES = 1 << 20  # small enough to still be in the cache when it is parsed
_WRITE_ENTRIES = 1 << 18
_MAX_FEATURES = 2**31 - 1

StrPath = str | os.PathLike[str]


def read_libfm(
    path: StrPath,
    *,
    n_features: int | None = None,
    zero_based: bool | Literal["auto"] = True,
    dtype: Literal["float64", "float32"] = "float64",
) -> tuple[sparse.csr_matrix[np.float64 | np.float32], NDArray[np.float64]]:
    r"""Read a file in the text format of libFM and libSVM: a sparse matrix with sorted indices, and the targets.

    A line is a row, ``target index:value index:value ...``, with each index only once, in any order. ``#`` starts a
    comment, and a ``qid:7`` behind the target is ignored. A file compressed with gzip is recognised by its first bytes.

    Parameters
    ----------
    n_features
        The number of columns of the matrix; by default as many as the file needs.
    zero_based
        True if indices start at 0 (libFM), False if they start at 1 (libSVM), ``"auto"`` for 1 if no index 0 occurs.

    Raises
    ------
    DataFileError
        If the file is not in the format; the message names the line and the column (in bytes), from 1.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.libfm")
    ...     _ = path.write_text("5 0:1 3:1  # the first user likes the second item\n2.5 1:1 2:1 4:0.5\n")
    ...     X, y = read_libfm(path)
    >>> X.shape, y
    ((2, 5), array([5. , 2.5]))
    """
    if zero_based not in (True, False, "auto"):
        raise ValueError(f"zero_based is {zero_based!r}; expected True, False or 'auto'")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype is {dtype!r}; expected 'float64' or 'float32'")
    if n_features is not None:
        n_features = check_integer("n_features", n_features, 0, _MAX_FEATURES)
    try:
        with open_raw(Path(path)) as file:
            zipped = isinstance(file, gzip.GzipFile)
            parser = _core.LibfmParser(0 if zero_based else 1, n_bytes=0 if zipped else os.path.getsize(path))
            name, plain = os.fspath(path), iter(lambda: file.read(_READ_BYTES), b"")
            for chunk in unpacked(name, file, _READ_BYTES) if zipped else plain:
                parser.feed(chunk)
            y, indptr, indices, values = parser.finish()
    except _core.LibfmError as error:
        raise DataFileError(f"{os.fspath(path)}, {error}") from None
    if zero_based == "auto" and indices.min(initial=1) >= 1:
        indices -= 1
    needed = int(indices.max(initial=-1)) + 1
    if n_features is None:
        n_features = needed
    elif n_features < needed:
        raise DataFileError(
            f"{os.fspath(path)}: the file holds {needed} features but n_features is {n_features}; "
            f"give at least {needed}, or None to take what the file needs"
        )
    with np.errstate(over="ignore"):
        data = values.astype(dtype, copy=False)
    if dtype == "float32" and not np.isfinite(data).all():
        what = f"the value {float(np.abs(values).max())} is too large for float32; read it with dtype='float64'"
        raise DataFileError(f"{os.fspath(path)}: {what}")
    # SciPy keeps both index arrays in one type, and int64 would double the larger one.
    offsets = indptr.astype(np.int32) if len(indices) <= np.iinfo(np.int32).max else indptr
    X = sparse.csr_matrix((data, indices, offsets), shape=(len(y), n_features), copy=False)
    X.has_canonical_format = True
    return X, y


def write_libfm(
    path: StrPath, X: sparse.spmatrix | sparse.sparray | ArrayLike, y: ArrayLike, *, zero_based: bool = True
) -> None:
    """Write a matrix and its targets in the text format of libFM and libSVM.

    `read_libfm` returns the same doubles. The file, compressed with gzip if its name ends in ``.gz``, appears only
    once it is complete; until then a file of the same name stays as it is.

    Parameters
    ----------
    X
        The features, a sparse matrix or a dense array, all finite. All that a sparse matrix stores is written, zeros
        as well. The format does not hold the number of columns: pass it to `read_libfm` where it matters.
    y
        The targets, one finite number per row.
    zero_based
        True to write the first column as 0 (libFM), False as 1 (libSVM).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "ratings.libfm")
    ...     write_libfm(path, [[1, 0, 0.5], [0, 1, 0]], [5, 2.5])
    ...     print(path.read_text())
    5 0:1 2:0.5
    2.5 1:1
    """
    if zero_based not in (True, False):
        raise ValueError(f"zero_based is {zero_based!r}; expected True or False")
    indptr, indices, values = FeatureTable.of("X", X).arrays()
    values = np.ascontiguousarray(values, dtype=np.float64)
    targets = np.ascontiguousarray(y, dtype=np.float64)
    if targets.shape != (len(indptr) - 1,):
        raise ValueError(f"y has shape {targets.shape} but X has {len(indptr) - 1} rows; expected one target per row")
    if not np.isfinite(targets).all():
        raise ValueError("y holds NaN or infinity, which the format cannot; remove or replace them")
    with atomic_write(path) as file:
        # No name and no time in the header: the same rows give the same bytes.
        zipped = os.fspath(path).endswith(".gz")
        out = gzip.GzipFile("", "wb", 6, file, mtime=0) if zipped else file
        begin = 0
        while begin < len(targets):
            end = int(np.searchsorted(indptr, indptr[begin] + _WRITE_ENTRIES, side="right")) - 1
            end = min(max(end, begin + 1), begin + _WRITE_ENTRIES, len(targets))
            out.write(_core.format_libfm(targets, indptr, indices, values, begin, end, 0 if zero_based else 1))
            begin = end
        if zipped:
            out.close()
