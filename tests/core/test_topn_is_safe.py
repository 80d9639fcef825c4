"""Catalogues check what they are given: wrong arguments raise, and numbers without sense do not crash."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm import _core
from spoilt import each_spoilt

N, BYTES, WIDTH, QUERIES = 70, 2, 16, 3
RNG = np.random.default_rng(0)
CODES = {
    "codes": RNG.integers(0, 256, (N, BYTES), dtype=np.uint8),
    "gains": np.ones(N, np.float32),
    "biases": np.zeros(N, np.float32),
    "positions": np.arange(N, dtype=np.int32),
}
VECTORS = {
    "vectors": RNG.normal(size=(N, WIDTH)).astype(np.float32),
    "biases": np.zeros(N, np.float32),
    "positions": np.arange(N, dtype=np.int32),
    "basis": np.eye(WIDTH)[:, :8].copy(),
}
EXCLUDED = {"start": np.array([0, 1, 1, 3]), "excluded": np.array([5, 0, 69], np.int32)}
BY_CODE = {
    "codes": RNG.integers(0, 256, (QUERIES, BYTES), dtype=np.uint8),
    "gains": np.ones(QUERIES, np.float32),
    "constants": np.zeros(QUERIES),
}
BY_VECTOR = {"vectors": RNG.normal(size=(QUERIES, WIDTH)).astype(np.float32), "constants": np.zeros(QUERIES)}
ONE_CHUNK = np.zeros(128, np.int8)
ONE_VECTOR = {"vectors": BY_VECTOR["vectors"][:1], "constants": np.zeros(1)}


def code_arrays():
    arrays = _core.arrange_codes(**CODES, weight=1.0)
    return arrays["live"], arrays


def vector_arrays():
    arrays = _core.arrange_vectors(**VECTORS, weight=1.0, nibbles=True)
    return arrays["live"], arrays


def test_what_is_arranged_is_checked():
    each_spoilt(lambda **a: _core.arrange_codes(**a, weight=1.0), CODES, ("gains", "biases", "positions"))
    each_spoilt(
        lambda **a: _core.arrange_vectors(**a, weight=1.0, nibbles=True), VECTORS, ("vectors", "biases", "positions")
    )
    for name, wrong in (("gains", -1), ("gains", np.inf), ("gains", np.nan), ("biases", np.nan), ("positions", -1)):
        with pytest.raises(ValueError, match="must be"):
            _core.arrange_codes(**CODES | {name: np.full_like(CODES[name], wrong)}, weight=1.0)
    with pytest.raises(ValueError, match="finite"):
        _core.arrange_vectors(
            **VECTORS | {"vectors": np.full_like(VECTORS["vectors"], np.inf)}, weight=1.0, nibbles=False
        )
    for turn in (np.eye(WIDTH)[:, :3].copy(), np.eye(WIDTH)[:, :0].copy(), np.eye(WIDTH - 1), np.zeros((0, 0))):
        with pytest.raises(ValueError, match="catalogue"):
            _core.arrange_vectors(**VECTORS | {"basis": turn}, weight=1.0, nibbles=True)


def test_a_catalogue_of_codes_is_checked():
    alive, arrays = code_arrays()

    def search(**a):
        return _core.CodeCatalogue(a).search_codes(alive, **BY_CODE, **EXCLUDED, n=5, n_threads=1)

    each_spoilt(search, arrays, arrays)
    for n_bytes in (0, 65):
        codes = np.zeros((len(alive), n_bytes, 64), np.uint8)
        with pytest.raises(ValueError, match=f"1 to 64 bytes.*{n_bytes}"):
            _core.CodeCatalogue(arrays | {"codes": codes})


def test_arrays_are_known_by_name():
    """What is given and what is expected are told; nothing is known by its place."""
    _, arrays = code_arrays()
    assert [name for name, _, _ in _core.CodeCatalogue.shapes(2, BYTES)] == list(arrays)
    for name, dtype, shape in _core.CodeCatalogue.shapes(2, BYTES):
        assert arrays[name].dtype == dtype
        assert arrays[name].shape == tuple(shape)
    _, of_vectors = vector_arrays()
    for name, dtype, shape in _core.VectorCatalogue.shapes(2, WIDTH, 8, 2):
        assert of_vectors[name].dtype == dtype
        assert of_vectors[name].shape == tuple(shape)
    backwards = dict(reversed(arrays.items()))
    found = [_core.CodeCatalogue(a).search_codes(a["live"], **BY_CODE, **EXCLUDED, n=5, n_threads=1)
             for a in (arrays, backwards)]  # fmt: skip
    assert (found[0][0] == found[1][0]).all()
    with pytest.raises(ValueError, match=r"'gain' is float64 \(128,\), expected float32 \(128,\).*arranged"):
        _core.CodeCatalogue(arrays | {"gain": arrays["gain"].astype(float)})
    with pytest.raises(ValueError, match="'gain' is missing"):
        _core.CodeCatalogue({name: array for name, array in arrays.items() if name != "gain"})
    with pytest.raises(ValueError, match="12 arrays, expected 11"):
        _core.CodeCatalogue(arrays | {"grain": arrays["gain"]})


def test_a_catalogue_of_vectors_is_checked():
    alive, arrays = vector_arrays()

    def search(**a):
        return _core.VectorCatalogue(a).search(alive, **BY_VECTOR, **EXCLUDED, n=5, n_threads=1)

    each_spoilt(search, arrays, [name for name in arrays if arrays[name].size])  # all vectors are kept


def test_starts_follow_from_the_values():
    alive, arrays = vector_arrays()
    np.testing.assert_array_equal(_core.vector_starts(arrays["values"], len(alive)), arrays["start"])
    assert len(_core.vector_starts(arrays["values"][:0], 0)) == 0
    assert not _core.vector_starts(arrays["values"][:0], 2).any()
    for values, chunks in (
        (arrays["values"][:-1], 2),
        (arrays["values"], 0),
        (arrays["values"], -1),
        (ONE_CHUNK, 2**60),
    ):
        with pytest.raises(ValueError, match="catalogue"):
            _core.vector_starts(values, chunks)


def test_queries_are_checked():
    alive, arrays = code_arrays()
    catalogue = _core.CodeCatalogue(arrays)
    given = {"live": alive, **BY_CODE, **EXCLUDED}
    each_spoilt(lambda **a: catalogue.search_codes(**a, n=5, n_threads=1), given, given)
    given = {"live": alive, **BY_VECTOR, **EXCLUDED}
    each_spoilt(lambda **a: catalogue.search_vectors(**a, n=5, n_threads=1), given, given)
    for n in (-1, 129, 2**62):
        with pytest.raises(ValueError, match="n must be"):
            catalogue.search_vectors(**given, n=n, n_threads=1)
    for name, wrong in (("constants", np.nan), ("vectors", np.inf)):
        with pytest.raises(ValueError, match="finite"):
            catalogue.search_vectors(**given | {name: np.full_like(given[name], wrong)}, n=5, n_threads=1)
    for start in ([0, 5, 1, 3], [1, 1, 1, 3], [0, 0, 0, 4], [0, -1, 0, 3]):
        with pytest.raises(ValueError, match="exclude"):
            catalogue.search_vectors(**given | {"start": np.array(start)}, n=5, n_threads=1)


@pytest.mark.parametrize("isa", _core.available_isas())
@pytest.mark.parametrize("make", [code_arrays, vector_arrays])
def test_arrays_without_sense_do_not_crash(isa, make):
    """A file may hold anything. The result is then anything, too, but there is one."""
    before = _core.isa()
    _core.use_isa(isa)
    rng = np.random.default_rng(1)
    alive, arrays = make()
    for name in arrays:
        for _ in range(10):
            noise = np.frombuffer(rng.bytes(arrays[name].nbytes), arrays[name].dtype).reshape(arrays[name].shape)
            spoilt = arrays | {name: noise}
            if make is code_arrays:
                catalogue = _core.CodeCatalogue(spoilt)
                found = catalogue.search_codes(alive, **BY_CODE, **EXCLUDED, n=5, n_threads=1)
                catalogue.search_vectors(alive, **BY_VECTOR, **EXCLUDED, n=5, n_threads=1)
            else:
                catalogue = _core.VectorCatalogue(spoilt)
                found = catalogue.search(alive, **BY_VECTOR, **EXCLUDED, n=5, n_threads=1)
                catalogue.search(alive, **ONE_VECTOR, start=None, excluded=None, n=5, n_threads=1)
            assert len(found[0]) == len(found[1]) == 5 * QUERIES
    _core.use_isa(before)


BELIEVED = {
    "codes": {"position", "bias", "gain", "chunk_bias", "chunk_most", "chunk_least", "inverse_most", "inverse_least",
              "chunk_first", "live"},
    "vectors": {"position", "bias", "start", "chunk_bias", "chunk_first", "live"},
}  # fmt: skip


@pytest.mark.parametrize("kind", ["codes", "vectors"])
def test_numbers_that_do_not_hold_are_found(kind):
    _, arrays = code_arrays() if kind == "codes" else vector_arrays()
    catalogue = _core.CodeCatalogue if kind == "codes" else _core.VectorCatalogue
    catalogue(arrays).check(N)
    with pytest.raises(ValueError, match=f"position {N - 1} is not from 0 to {N - 2}"):
        catalogue(arrays).check(N - 1)
    for name in sorted(BELIEVED[kind]):
        other = arrays[name].copy()
        other.reshape(-1)[0 if name != "live" else -1] = other.dtype.type(77)
        with pytest.raises(ValueError, match="catalogue: "):
            catalogue(arrays | {name: other}).check(N)
    twice = arrays["position"].copy()
    twice[1] = twice[0]
    with pytest.raises(ValueError, match=f"position {twice[0]} occurs twice"):
        catalogue(arrays | {"position": twice}).check(N)


@pytest.mark.parametrize("name", ["basis", "vectors", "length", "error", "rest", "inverse_step", "nibble_error"])
@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_vectors_that_are_not_finite_are_found(name, wrong):
    _, arrays = vector_arrays()
    other = arrays[name].copy()
    other.reshape(-1)[0] = wrong
    with pytest.raises(ValueError, match="must be finite"):
        _core.VectorCatalogue(arrays | {name: other}).check(N)
    with pytest.raises(ValueError, match="basis must be finite"):
        _core.arrange_vectors(**VECTORS | {"basis": np.full((WIDTH, 8), wrong)}, weight=1.0, nibbles=True)


def test_candidates_are_checked():
    given = {
        "positions": np.arange(100, 100 + N, dtype=np.int32),
        "biases": VECTORS["biases"],
        "vectors": VECTORS["vectors"],
        "queries": BY_VECTOR["vectors"],
        "constants": BY_VECTOR["constants"],
        "candidates": np.array([[100, 169], [105, -1], [-1, -1]]),
    }
    positions, scores = (found.reshape(QUERIES, 2) for found in _core.rescore(**given, n=2, n_threads=2))
    expected = given["constants"][:, None] + (given["queries"].astype(float) @ given["vectors"].T.astype(float))
    best = max((0, 69), key=lambda row: expected[0, row] + given["biases"][row])
    assert positions[0, 0] == 100 + best
    assert scores[0, 0] == pytest.approx(expected[0, best] + given["biases"][best], rel=1e-6)
    assert positions[1].tolist() == [105, -1]
    assert positions[2].tolist() == [-1, -1]
    assert np.isneginf(scores[positions < 0]).all()
    apart = {
        "positions": np.arange(0, 3 * N, 3, dtype=np.int32),
        "candidates": np.array([[0, 207], [15, -1], [-1, -1]]),
    }
    assert (_core.rescore(**given | apart, n=2, n_threads=1)[1].reshape(QUERIES, 2) == scores).all()
    arrays = ("positions", "vectors", "biases", "queries", "constants")
    each_spoilt(lambda **a: _core.rescore(**a, n=1, n_threads=1), given, arrays)
    assert len(_core.rescore(**given, n=0, n_threads=1)[0]) == 0
    for n in (-1, 3):
        with pytest.raises(ValueError, match="n must be"):
            _core.rescore(**given, n=n, n_threads=1)
    for wrong in (-2, 0, 100 + N, 2**62, -(2**63)):
        with pytest.raises(ValueError, match="candidates must be"):
            _core.rescore(**given | {"candidates": np.full((QUERIES, 2), wrong)}, n=1, n_threads=1)


def test_chunks_without_a_bound_leave_the_others_in_order():
    """The length of some vectors is infinite in single precision, and nothing is known of 0 times that."""
    n = 64 * 60
    biases = np.random.default_rng(0).permutation(n).astype(np.float32)  # a chunk has 64 that follow each other
    vectors = np.where(biases[:, None] // 64 % 3 > 0, 1, np.full((n, WIDTH), 3e38, np.float32))
    arrays = _core.arrange_vectors(vectors, biases, np.arange(n, dtype=np.int32), np.eye(WIDTH), 0.0, False)
    bounded = np.isfinite(arrays["length"])
    assert 0 < bounded.sum() < len(bounded)
    promised = np.where(bounded, arrays["chunk_bias"], 0)
    assert (np.diff(promised) <= 0).all()
