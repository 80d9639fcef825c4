"""Matrices in MATLAB files: one row per non-zero, or per row of the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from bitfm.data.tables._sparse import entries, lists_of
from bitfm.errors import DataFileError, EmptyTableError

if TYPE_CHECKING:
    import polars as pl


def is_matlab(name: str) -> bool:
    """Return whether a name is that of a MATLAB file, with or without the address of a matrix inside."""
    return name.partition("#")[0].lower().endswith(".mat")


def read_matlab(name: str, columns: Sequence[str] | None) -> pl.DataFrame:
    """Read a matrix; rows and columns count from 0."""
    import polars as pl

    path, _, address = name.partition("#")
    matrix = _matrix(name, path, address)
    columns = columns or ("row", "column", "value")
    if len(columns) not in (2, 3):
        raise DataFileError(
            f"{name} is a matrix, but {len(columns)} names were given; expected three (row, column, value), or two "
            "(row, list of columns)"
        )
    if len(columns) == 2:
        numbers = pl.Series(columns[0], np.arange(matrix.shape[0], dtype=np.int64))
        return pl.DataFrame([numbers, lists_of(columns[1], sp.csr_matrix(matrix))])
    return pl.DataFrame([pl.Series(column, part) for column, part in zip(columns, entries(matrix), strict=True)])


def _matrix(name: str, path: str, address: str) -> Any:
    import scipy.io  # slow to import

    variable, _, element = address.partition("/")
    with open(path, "rb") as file:
        if not file.read(1):
            raise EmptyTableError(f"{path} is empty; expected a MATLAB file")
    try:
        held = {held: f"{shape[0]} × {shape[-1]}" for held, shape, _ in scipy.io.whosmat(path, appendmat=False)}
        content = scipy.io.loadmat(path, appendmat=False, variable_names=[variable]) if variable in held else {}
    except NotImplementedError:
        raise DataFileError(f"{path} is in MATLAB's format 7.3; save it in MATLAB with the option -v7") from None
    except Exception as error:  # SciPy raises all sorts on damaged files
        raise DataFileError(f"{path} cannot be read as a MATLAB file ({error}); get the whole file") from None
    if variable not in content:
        listed = ", ".join(f"{held} ({shape})" for held, shape in held.items()) or "nothing"
        raise DataFileError(f"{path} holds {listed}; name one of them behind the path: {path}#name")
    found = content[variable]
    if not sp.issparse(found) and found.dtype == object:
        cells = found.ravel()
        if not element.isdecimal() or int(element) >= len(cells):
            raise DataFileError(f"{path}#{variable} has {len(cells)} cells; name one, from {path}#{variable}/0 on")
        found = cells[int(element)]
    elif element:
        raise DataFileError(f"{name}: {variable} has no cells; leave out what follows the stroke")
    if found.ndim != 2 or found.dtype.kind not in "biuf":
        raise DataFileError(f"{name} is an array of {found.dtype}; expected a matrix of numbers")
    return found
