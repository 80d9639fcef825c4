"""The same seed gives the same bytes: on any number of threads, instruction set, process and thread."""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
import threadpoolctl
from sklearn.base import clone

from bitfm import FM, BiasModel, Block, Blocks, DiscreteFM, DistilledFM, _core

MODELS = {
    "BiasModel": BiasModel(max_iter=3),
    "FM-als": FM(rank=10, n_iter=2),
    "FM-sgd": FM(rank=10, solver="sgd", n_iter=2),
    "FM-gibbs": FM(rank=10, solver="gibbs", n_iter=3, n_samples=5, n_chains=3, thin=1),
    "DiscreteFM": DiscreteFM(bits=16, max_iter=2),
    "DiscreteFM-wide": DiscreteFM(bits=72, max_iter=1, init="random"),
    "DistilledFM": DistilledFM(
        bits=24, teacher=FM(rank=4, solver="gibbs", n_iter=4, n_samples=2), max_iter=2, validation_fraction=0.3
    ),
}
ACROSS = {  # for blocks alone
    "DistilledFM-field": DistilledFM(
        bits=8, teacher=FM(rank=4, n_iter=2), max_iter=2, gains="field", pairs="across", anchor_strength=5.0
    ),
}
MANY = 5500  # rows of a long column: more than two of the pieces that threads share


def bare_ids(rng):
    return Blocks(
        user=Block(rng.integers(600, size=6000), {"id": sp.identity(600)}),
        item=Block(rng.integers(300, size=6000), {"id": sp.identity(300)}),
    )


def shared_rows(rng):
    """Rows that interactions share, among them columns that occur in every row."""
    dense = rng.normal(size=(MANY, 2)) * 0.3
    kinds = sp.csr_matrix((np.ones(MANY), (np.arange(MANY), rng.integers(300, size=MANY))))
    return Blocks(
        user=Block(rng.integers(300, size=6000), {"id": sp.identity(300), "age": rng.random((300, 1))}),
        item=Block(rng.integers(MANY, size=6000), {"kind": kinds, "dense": dense}),
    )


def plain_matrix(rng):
    return rng.normal(size=(MANY, 4)) * 0.5


def single_precision(rng):
    return sp.random(MANY, 8, 0.5, random_state=rng, dtype=np.float32, format="csr")


DATA = {f.__name__: f for f in (bare_ids, shared_rows, plain_matrix, single_precision)}
CROSS = ["bare_ids", "shared_rows"]


@pytest.fixture(scope="module")
def problems():
    out = {}
    for name, make in DATA.items():
        rng = np.random.default_rng(7)
        X = make(rng)
        out[name] = X, rng.normal(size=X.shape[0]).round(1) + 3
    return out


def digest(model, X):
    """Return a hash of every array and number that the fit has left, and of the scores."""
    seen = hashlib.sha256()
    for name in ("weights_", "factors_", "codes_", "gains_", "delegate_"):
        if hasattr(model, name):
            seen.update(np.ascontiguousarray(getattr(model, name)).tobytes())
    for array in getattr(model, "samples_", ()):
        seen.update(np.ascontiguousarray(array).tobytes())
    seen.update(repr((model.bias_, [(h.objective, h.loss, h.flips) for h in model.fit_log_])).encode())
    seen.update(model.predict(X).tobytes())
    return seen.hexdigest()


def every_problem(test):
    cases = [(m, d, "all") for m in MODELS for d in DATA]
    cases += [(m, d, "across") for m in (MODELS | ACROSS) if m != "BiasModel" for d in CROSS]
    return pytest.mark.parametrize(("name", "data", "pairs"), cases)(test)


def make(name, pairs="all", **params):
    model = clone((MODELS | ACROSS)[name]).set_params(**params)
    return model if name == "BiasModel" else model.set_params(pairs=pairs)


@pytest.fixture(scope="module")
def on_one_thread(problems):
    @functools.cache
    def fit(name, data, pairs):
        X, y = problems[data]
        return digest(make(name, pairs, n_jobs=1).fit(X, y), X)

    return fit


@every_problem
def test_any_number_of_threads_gives_the_same_bytes(problems, on_one_thread, name, data, pairs):
    X, y = problems[data]
    expected = on_one_thread(name, data, pairs)
    for n_jobs in (2, 7):
        assert digest(make(name, pairs, n_jobs=n_jobs).fit(X, y), X) == expected


@pytest.mark.parametrize(("name", "data"), [("DiscreteFM", "bare_ids"), ("DistilledFM", "shared_rows")])
def test_any_number_of_blas_threads_gives_the_same_bytes(problems, on_one_thread, name, data):
    X, y = problems[data]
    with threadpoolctl.threadpool_limits(3, user_api="blas"):
        assert digest(make(name, n_jobs=1).fit(X, y), X) == on_one_thread(name, data, "all")


@every_problem
def test_any_instruction_set_gives_the_same_bytes(problems, on_one_thread, name, data, pairs):
    X, y = problems[data]
    before = _core.isa()
    isas = {"portable"} if data != "shared_rows" else set(_core.available_isas()) - {before}
    expected = on_one_thread(name, data, pairs)
    try:
        for isa in isas:
            _core.use_isa(isa)
            assert _core.isa() == isa
            assert digest(make(name, pairs, n_jobs=1).fit(X, y), X) == expected
    finally:
        _core.use_isa(before)


@pytest.mark.parametrize("name", ["FM-als", "FM-sgd", "FM-gibbs", "DiscreteFM", "DistilledFM"])
def test_seeds_matter_and_generators_count_as_seeds(problems, name):
    X, y = problems["bare_ids"]
    digests = [digest(make(name, random_state=seed).fit(X, y), X) for seed in (0, 1, np.random.RandomState(1))]
    assert digests[0] != digests[1] == digests[2]
    model = make(name, random_state=5)
    assert digest(model.fit(X, y), X) == digest(model.fit(X, y), X)


def test_weighted_fits_are_repeatable_too(problems):
    X, y = problems["shared_rows"]
    weight = np.random.default_rng(0).random(len(y))
    for name in ("BiasModel", "FM-als", "FM-sgd", "FM-gibbs"):
        assert len({digest(make(name, n_jobs=n).fit(X, y, weight), X) for n in (1, 3)}) == 1


# Instruction sets by environment

SCRIPT = "from bitfm import _core; print(_core.isa())"


def run(script, isa="", **options):
    environment = os.environ | {"BITFM_ISA": isa}
    command = [sys.executable, "-c", script]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, **options)


def test_the_environment_chooses_the_instruction_set():
    assert run(SCRIPT, "portable").stdout == "portable\n"


def test_an_unknown_instruction_set_in_the_environment_is_a_clear_error():
    result = run(SCRIPT, "sse9")
    assert result.returncode == 1
    assert "Error: instruction set 'sse9' is not available on this machine; choose one of: portable" in result.stderr


@pytest.mark.parametrize("name", ["", "sse9", "AVX2", "portable "])
def test_an_unknown_instruction_set_is_refused_and_changes_nothing(name):
    before = _core.isa()
    with pytest.raises(ValueError, match=f"'{name}'.*portable"):
        _core.use_isa(name)
    assert _core.isa() == before


# Processes and threads


def _child(queue, name, X, y):
    queue.put(digest(make(name, n_jobs=2).fit(X, y), X))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "DiscreteFM-wide"])
@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_fit_after_its_parent_has(problems, name):
    X, y = problems["shared_rows"]
    X, y = X[:2000], y[:2000]
    expected = digest(make(name, n_jobs=2).fit(X, y), X)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_child, args=(queue, name, X, y))
    child.start()
    child.join(30)
    alive = child.is_alive()
    if alive:
        child.kill()
    assert not alive
    assert child.exitcode == 0
    assert queue.get() == expected


def test_fits_and_scores_in_several_threads_do_not_disturb_each_other(problems):
    X, y = problems["shared_rows"]
    X, y = X[:2000], y[:2000]
    names = list(MODELS) * 2
    expected = {name: digest(make(name, n_jobs=2).fit(X, y), X) for name in MODELS}
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda name: digest(make(name, n_jobs=2).fit(X, y), X), names)) == [
            expected[name] for name in names
        ]


def test_one_model_may_score_in_several_threads_at_once(problems):
    X, y = problems["bare_ids"]
    for name in MODELS:
        model = make(name, n_jobs=2).fit(X, y)
        expected = model.predict(X)
        with ThreadPoolExecutor(6) as pool:
            for scores in pool.map(model.predict, [X] * 12):
                np.testing.assert_array_equal(scores, expected)


@pytest.mark.memory
def test_threads_that_the_system_does_not_give_are_done_without():
    resource = pytest.importorskip("resource")
    if resource.getrlimit(resource.RLIMIT_STACK)[1] != resource.RLIM_INFINITY or not os.path.exists("/proc/self/statm"):
        pytest.skip("cannot make threads impossible here")
    script = """
import resource, numpy as np, bitfm
X = np.random.default_rng(0).normal(size=(20_000, 3))
expected = bitfm.FM(rank=2, n_jobs=1).fit(X, X[:, 0]).predict(X)
drawn = bitfm.FM(rank=2, solver="gibbs", n_iter=3, n_samples=4, n_jobs=1).fit(X, X[:, 0]).predict(X)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30),) * 2)  # too little for the stack of a thread
assert (bitfm.FM(rank=2, n_jobs=4).fit(X, X[:, 0]).predict(X) == expected).all()
again = bitfm.FM(rank=2, solver="gibbs", n_iter=3, n_samples=4, n_jobs=4).fit(X, X[:, 0])
assert (again.predict(X) == drawn).all()
"""
    stack = (4 << 30, resource.RLIM_INFINITY)
    result = run(script, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, stack))
    assert result.returncode == 0, result.stderr
