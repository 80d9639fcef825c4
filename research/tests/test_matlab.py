"""Matrices from MATLAB files."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from bitfm.errors import DataFileError

from bitfm_research.matlab import read_lists, read_matrix, read_triples

RATINGS = np.array([[0, 5, 0], [0, 0, 0], [1, 0, 2.5]])


@pytest.fixture
def path(tmp_path):
    cells = np.empty((1, 2), dtype=object)
    cells[0, 0], cells[0, 1] = sp.csc_matrix(RATINGS), RATINGS
    path = tmp_path / "a.mat"
    scipy.io.savemat(path, {"ratings": sp.csc_matrix(RATINGS), "dense": RATINGS, "cells": cells, "text": "x"})
    return path


@pytest.mark.parametrize("address", [("ratings",), ("dense",), ("cells", 0), ("cells", 1)])
def test_a_matrix_gives_rows_or_lists(path, address):
    triples = read_triples(path, *address, columns=("user", "item", "rating"))
    assert triples.columns == ["user", "item", "rating"]
    assert triples.rows() == [(0, 1, 5.0), (2, 0, 1.0), (2, 2, 2.5)]
    lists = read_lists(path, *address, columns=("user", "groups"))
    assert lists.to_dict(as_series=False) == {"user": [0, 1, 2], "groups": [[1], [], [0, 2]]}


@pytest.mark.parametrize(
    ("address", "message"),
    [
        (("other",), r"holds ratings \(3 × 3\), dense \(3 × 3\), cells \(1 × 2\), text .*; name one of them"),
        (("cells",), "has 2 cells; name one"),
        (("cells", 2), "has 2 cells; name one"),
        (("ratings", 0), "ratings has no cells"),
        (("text",), "expected a matrix of numbers"),
    ],
)
def test_matrices_that_are_not_there_are_refused(path, address, message):
    with pytest.raises(DataFileError, match=message):
        read_matrix(path, *address)


def test_damaged_files_are_refused(path):
    content = path.read_bytes()
    path.write_bytes(content[:300])
    with pytest.raises(DataFileError, match=r"a\.mat cannot be read as a MATLAB file"):
        read_matrix(path, "ratings")
    path.write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x00" * 100)
    with pytest.raises(DataFileError, match=r"format 7\.3; save it in MATLAB with the option -v7"):
        read_matrix(path, "ratings")
    with pytest.raises(FileNotFoundError):
        read_matrix(path.with_name("b.mat"), "ratings")


def test_indices_are_checked_before_a_matrix_is_converted(path):
    content, rows = path.read_bytes(), sp.csc_matrix(RATINGS).indices.astype("<i4").tobytes()
    assert content.count(rows) >= 1
    for wrong in (77, -1, 2**31 - 1):
        path.write_bytes(content.replace(rows, np.array([wrong, *sp.csc_matrix(RATINGS).indices[1:]], "<i4").tobytes()))
        with pytest.raises(DataFileError, match="ratings is damaged"):
            read_matrix(path, "ratings")
