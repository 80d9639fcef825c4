"""Matrices from MATLAB files, which must be trusted: SciPy's reader may crash on a file that was tampered with."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import polars as pl
import scipy.io
import scipy.sparse as sp
from bitfm.errors import DataFileError

__all__ = ["read_lists", "read_matrix", "read_triples"]


def read_matrix(path: str | os.PathLike[str], variable: str, cell: int | None = None) -> Any:
    """Read a matrix, or one of a cell array, counted from 0: sparse or dense as it is, with its indices checked."""
    name = os.fspath(path)
    try:
        held = {held: f"{shape[0]} × {shape[-1]}" for held, shape, _ in scipy.io.whosmat(name, appendmat=False)}
        content = scipy.io.loadmat(name, appendmat=False, variable_names=[variable]) if variable in held else {}
    except FileNotFoundError:
        raise
    except NotImplementedError:
        raise DataFileError(f"{name} is in MATLAB's format 7.3; save it in MATLAB with the option -v7") from None
    except Exception as error:  # SciPy raises all sorts on damaged files
        raise DataFileError(f"{name} cannot be read as a MATLAB file ({error}); get the whole file") from None
    if variable not in content:
        listed = ", ".join(f"{held} ({shape})" for held, shape in held.items()) or "nothing"
        raise DataFileError(f"{name} holds {listed}; name one of them")
    matrix: Any = content[variable]
    if not sp.issparse(matrix) and matrix.dtype == object:
        cells = matrix.ravel()
        if cell is None or not 0 <= cell < len(cells):
            raise DataFileError(f"{name}: {variable} has {len(cells)} cells; name one, from 0 on")
        matrix = cells[cell]
    elif cell is not None:
        raise DataFileError(f"{name}: {variable} has no cells; leave out the cell")
    if matrix.ndim != 2 or matrix.dtype.kind not in "biuf":
        raise DataFileError(f"{name}: {variable} is an array of {matrix.dtype}; expected a matrix of numbers")
    if hasattr(matrix, "check_format"):  # sparse
        try:
            matrix.check_format(full_check=True)
        except ValueError as error:
            raise DataFileError(f"{name}: {variable} is damaged ({error}); get the whole file") from None
    return matrix


def read_triples(
    path: str | os.PathLike[str], variable: str, cell: int | None = None, *, columns: tuple[str, str, str]
) -> pl.DataFrame:
    """Return row, column and value of each non-zero of a matrix, row by row, counted from 0."""
    entries = _by_row(read_matrix(path, variable, cell)).tocoo()
    parts: tuple[Any, ...] = entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data
    return pl.DataFrame([pl.Series(name, part) for name, part in zip(columns, parts, strict=True)])


def read_lists(
    path: str | os.PathLike[str], variable: str, cell: int | None = None, *, columns: tuple[str, str]
) -> pl.DataFrame:
    """Return one row per row of a matrix: its index, and the list of the columns that are not zero in it."""
    matrix = _by_row(read_matrix(path, variable, cell))
    lists = [part.tolist() for part in np.split(matrix.indices.astype(np.int64), matrix.indptr[1:-1])]
    rows = pl.Series(columns[0], range(matrix.shape[0]), dtype=pl.Int64)
    return pl.DataFrame([rows, pl.Series(columns[1], lists[: matrix.shape[0]], dtype=pl.List(pl.Int64))])


def _by_row(matrix: Any) -> sp.csr_matrix:
    csr = sp.csr_matrix(matrix)
    csr.sort_indices()
    csr.eliminate_zeros()
    return csr
