"""What metrics of ranked items are given, checked and as the core takes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from bitfm.data.feature_table import FeatureTable
from bitfm.data.splits import distinct_indices
from bitfm.validation import check_integer

Ks: TypeAlias = int | Iterable[int]
ItemLists: TypeAlias = tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]  # where each user's items start; the items


def check_ks(k: Ks) -> tuple[tuple[int, ...], bool]:
    """Return the ks, and whether they are several, each with a column of its own."""
    several = isinstance(k, Iterable)
    ks = tuple(check_integer("k", one, 1, 2**31 - 1) for one in (k if isinstance(k, Iterable) else [k]))
    if not ks:
        raise ValueError("k: expected a whole number or several, got none.")
    return ks, several


def as_rows(name: str, values: Any, n_users: int | None = None) -> sp.csr_matrix:
    """Return a sparse matrix of users × items with sorted columns."""
    if not sp.issparse(values):
        raise TypeError(f"{name}: expected a sparse matrix of users × items, got {type(values).__name__}.")
    matrix = FeatureTable.of(name, values).to_csr()
    if n_users is not None and matrix.shape[0] != n_users:
        raise ValueError(f"{name}: expected a row for each of {n_users} users, got a matrix of shape {matrix.shape}.")
    return matrix


def user_names(caller: str, users: npt.ArrayLike | None, n_users: int) -> npt.NDArray[Any]:
    """Return the users' names, all different, or the numbers of the rows without any."""
    if users is None:
        return np.arange(n_users)
    distinct, places = distinct_indices(caller, "users", users)
    if not len(distinct) == len(places) == n_users:
        raise ValueError(
            f"{caller}: expected {n_users} different users, one per row, got {len(places)} ({len(distinct)} different)."
        )
    return distinct[places]


def items_of(matrix: sp.csr_matrix) -> ItemLists:
    """Return each user's items, whatever their values: copies, which no one else can change."""
    return np.array(matrix.indptr, np.int64), np.array(matrix.indices, np.int32)


def relevant_items(relevant: sp.csr_matrix, exclude: sp.csr_matrix | None = None) -> ItemLists:
    """Return each user's relevant items, without those of value 0 and those that are excluded."""
    shape = relevant.shape if exclude is None else (relevant.shape[0], max(relevant.shape[1], exclude.shape[1]))
    items = sp.csr_matrix((relevant.data != 0, relevant.indices, relevant.indptr), shape)
    if exclude is not None:
        items = items > sp.csr_matrix((np.ones(exclude.nnz, bool), exclude.indices, exclude.indptr), shape)
    items = sp.csr_matrix(items, copy=True)
    items.eliminate_zeros()
    items.sort_indices()
    return items_of(items)
