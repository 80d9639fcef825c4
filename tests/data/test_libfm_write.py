"""Writing the libFM text format: what is written reads back exactly, here and in scikit-learn."""

from __future__ import annotations

import os
import stat

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from bitfm import _core
from bitfm.data.libfm import read_libfm, write_libfm

finite = st.floats(allow_nan=False, allow_infinity=False)


def bits(array) -> list[int]:
    return np.asarray(array, dtype=np.float64).view(np.uint64).tolist()


def same(ours, theirs) -> bool:
    (X, y), (X2, y2) = ours, theirs
    return (
        X.shape == X2.shape
        and np.array_equal(X.indptr, X2.indptr)
        and np.array_equal(X.indices, X2.indices)
        and bits(X.data) == bits(X2.data)
        and bits(y) == bits(y2)
    )


def random_rows(n_rows=300, n_features=200, seed=0):
    rng = np.random.default_rng(seed)
    X = sparse.random(n_rows, n_features, density=0.05, format="csr", random_state=rng)
    X.data *= 10.0 ** rng.integers(-20, 20, size=X.nnz)
    return X, rng.normal(size=n_rows)


def test_written_text(tmp_path):
    path = tmp_path / "rows"
    write_libfm(path, [[1, 0, -2.5], [0, 0, 0], [100000, 1e22, 0.1]], [1, -0.0, 1e-7])
    assert path.read_text() == "1 0:1 2:-2.5\n-0\n1e-07 0:100000 1:1e+22 2:0.1\n"
    write_libfm(path, [[1, 0, -2.5]], [3], zero_based=False)
    assert path.read_text() == "3 1:1 3:-2.5\n"


@given(st.lists(st.tuples(finite, st.dictionaries(st.integers(0, 50), finite, max_size=8)), max_size=20))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip_is_exact(tmp_path, rows):
    indptr = np.cumsum([0] + [len(entries) for _, entries in rows])
    indices = [index for _, entries in rows for index in sorted(entries)]
    data = [entries[index] for _, entries in rows for index in sorted(entries)]
    X = sparse.csr_matrix((np.array(data, dtype=float), indices, indptr), shape=(len(rows), 51))
    y = np.array([target for target, _ in rows], dtype=float)
    for name in ("rows", "rows.gz"):
        for zero_based in (True, False):
            write_libfm(tmp_path / name, X, y, zero_based=zero_based)
            assert same(read_libfm(tmp_path / name, n_features=51, zero_based=zero_based), (X, y))


def test_round_trip_over_many_pieces(tmp_path, monkeypatch):
    X, y = random_rows()
    monkeypatch.setattr("bitfm.data.libfm._WRITE_ENTRIES", 7)
    monkeypatch.setattr("bitfm.data.libfm._READ_BYTES", 11)
    write_libfm(tmp_path / "rows", X, y)
    assert same(read_libfm(tmp_path / "rows", n_features=X.shape[1]), (X, y))


@pytest.mark.parametrize(
    "convert",
    [sparse.coo_matrix, sparse.csc_array, sparse.csr_array, sparse.lil_matrix, lambda X: X.toarray()],
)
def test_every_kind_of_matrix_is_written_alike(tmp_path, convert):
    X, y = random_rows()
    write_libfm(tmp_path / "rows", convert(X), y)
    assert same(read_libfm(tmp_path / "rows", n_features=X.shape[1]), (X, y))


def test_duplicates_are_summed_and_the_input_is_kept(tmp_path):
    X = sparse.csr_matrix((np.array([1.0, 2.0, 4.0]), [3, 1, 3], [0, 3]))
    write_libfm(tmp_path / "rows", X, [0])
    assert (tmp_path / "rows").read_text() == "0 1:2 3:5\n"
    assert X.indices.tolist() == [3, 1, 3]


def test_same_rows_give_the_same_gzip(tmp_path):
    X, y = random_rows()
    for name in ("a.gz", "b.gz"):
        write_libfm(tmp_path / name, X, y)
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[1, 2]], [1, 2], "expected one target per row"),
        ([[1, 2]], [[1]], "expected one target per row"),
        ([1, 2], [1], "X: expected a matrix of rows × columns, got 1 dim"),
        ([[1, np.nan]], [1], "X: values must be finite"),
        ([[1, 2]], [np.inf], "y holds NaN or infinity"),
        (sparse.csr_matrix((1, 2**31)), [1], "at most"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path, X, y, message):
    with pytest.raises(ValueError, match=message):
        write_libfm(tmp_path / "rows", X, y)
    assert os.listdir(tmp_path) == []


def test_damaged_index_arrays_are_refused(tmp_path):
    X, y = random_rows()
    for name, place, value in (("indices", 3, -1), ("indices", 3, 10**6), ("indptr", 5, 10**6)):
        broken = X.copy()
        getattr(broken, name)[place] = value
        with pytest.raises(ValueError, match=r"ind(ex|ices|ptr)"):
            write_libfm(tmp_path / "rows", broken, y)


@pytest.mark.parametrize(
    ("indptr", "indices", "begin", "end"),
    [
        ([0, 1], [0], 0, 2),
        ([0, 1], [0], 1, 0),
        ([0, 2], [0], 0, 1),
        ([-1, 1], [0], 0, 1),
        ([0, 1, 1], [0], 0, 1),
        ([0, 2], [1, 1], 0, 1),
        ([0, 1], [-1], 0, 1),
    ],
)
def test_core_refuses_what_is_not_csr(indptr, indices, begin, end):
    arrays = (np.array([1.0]), np.array(indptr, np.int64), np.array(indices, np.int32), np.ones(len(indices)))
    with pytest.raises(ValueError, match=r"must|not"):
        _core.format_libfm(*arrays, begin, end, 0)


@pytest.mark.parametrize("name", ["rows", "rows.gz"])
def test_failing_midway_leaves_the_old_file(tmp_path, monkeypatch, name):
    X, y = random_rows()
    path = tmp_path / name
    path.write_bytes(b"the old file")
    calls = []

    def full_disk(*args):
        calls.append(args)
        if len(calls) == 3:
            raise OSError("no space left")
        return b"1 0:1\n"

    monkeypatch.setattr("bitfm.data.libfm._WRITE_ENTRIES", 50)
    monkeypatch.setattr("bitfm._core.format_libfm", full_disk)
    with pytest.raises(OSError, match="no space left"):
        write_libfm(path, X, y)
    assert path.read_bytes() == b"the old file"
    assert os.listdir(tmp_path) == [name]


def test_permissions_and_links_are_the_usual_ones(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "rows")
    write_libfm(tmp_path / "link", [[1]], [1])
    (tmp_path / "plain").write_bytes(b"")
    assert (tmp_path / "link").is_symlink()
    assert stat.S_IMODE((tmp_path / "rows").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    with pytest.raises(OSError, match="not a regular file"):
        write_libfm(os.devnull, [[1]], [1])


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_agrees_with_scikit_learn(tmp_path, zero_based, seed):
    X, y = random_rows(seed=seed)
    path, back = str(tmp_path / "theirs"), str(tmp_path / "ours")
    dump_svmlight_file(X, y, path, zero_based=zero_based, comment="a comment")
    write_libfm(back, X, y, zero_based=zero_based)
    options = {"n_features": X.shape[1], "zero_based": zero_based}
    assert same(read_libfm(path, **options), load_svmlight_file(path, **options))
    assert same(read_libfm(back, **options), load_svmlight_file(back, **options))
    assert same(read_libfm(back, **options), (X, y))


def test_auto_agrees_with_scikit_learn(tmp_path):
    path = tmp_path / "rows"
    for text in ("1 1:1 4:2\n", "1 0:1 4:2\n"):
        path.write_text(text)
        assert same(read_libfm(path, zero_based="auto"), load_svmlight_file(path, zero_based="auto"))
