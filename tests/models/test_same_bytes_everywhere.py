"""The same bytes from any BLAS, NumPy and C library: what they do by processor does not show in what is learned."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

SCRIPT = """
import hashlib
import sys
import numpy as np
import scipy.sparse as sp
from bitfm import FM, Block, Blocks, DiscreteFM, DistilledFM, Recommender
from bitfm.datasets import make_bookshop

rng = np.random.default_rng(0)
users, items, n = 120, 80, 1500
words = sp.random(items, 40, 0.1, random_state=1)
X = Blocks(
    user=Block(rng.integers(users, size=n), {"id": sp.identity(users), "age": rng.random((users, 2))}),
    item=Block(rng.integers(items, size=n), {"id": sp.identity(items), "words": words}),
)
y = rng.normal(size=n).round(1) + 3
teacher = FM(16, solver="gibbs", n_iter=6, n_samples=6, n_chains=2)
models = {
    "logistic": FM(8, loss="logistic", n_iter=3),
    "paper": DiscreteFM(64, max_iter=2),
    "distilled": DistilledFM(32, teacher=teacher, max_iter=2),
    "all pairs": DistilledFM(32, pairs="all", teacher=teacher, max_iter=2),
}
for name, model in models.items():
    parameters = model.fit(X, y > 3 if name == "logistic" else y).parameters_
    vectors = parameters.vectors(np.arange(parameters.n_features)) if name != "logistic" else parameters.factors
    print(name, hashlib.sha256(vectors.tobytes() + parameters.weights.tobytes()).hexdigest())
found = models["distilled"].index(X.blocks["item"], mode="codes").search(X.blocks["user"], 10)
print("row codes", hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest())
shop = make_bookshop(80, 60, 1200)
rec = Recommender(model=DistilledFM(32, teacher=teacher, max_iter=2))
rec.fit(shop.ratings, users=shop.readers, items=shop.books, user="reader", item="title")
rec.add_ratings({"reader": ["new", "new"], "title": shop.books["title"][:2], "rating": [5, 1]})
rec.save(sys.argv[1])
print("file", hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())
events = Recommender(16).fit(shop.ratings, items=shop.books, user="reader", item="title", target=None)
events.add_events({"reader": ["new", "new"], "title": shop.books["title"][:2]})
events.save(sys.argv[1])
print("events", hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())
for frame in (rec.recommend_new([(shop.books["title"][7], 2)]), rec.similar_items(shop.books["title"][0])):
    print("query", np.asarray(frame["score"]).tobytes().hex())
"""
NO_FMA = "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4,-AVX512F"
PLACES = {  # each as if on another processor; what a variable names that is not there does no harm
    "another BLAS": {"OPENBLAS_NUM_THREADS": "2", "OPENBLAS_CORETYPE": "Haswell"},
    "NumPy and C library without wide instructions": {
        "OPENBLAS_CORETYPE": "Prescott", "GLIBC_TUNABLES": NO_FMA, "NPY_DISABLE_CPU_FEATURES": "{features}",
    },
}  # fmt: skip


def learned(path, **environment):
    command = [sys.executable, "-c", SCRIPT, str(path)]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"} | environment
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return learned(tmp_path_factory.mktemp("here") / "shop.bitfm")


@pytest.mark.parametrize("place", PLACES)
def test_bytes_do_not_depend_on_the_place(here, tmp_path, place):
    enabled = " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
    variables = {name: value.format(features=enabled) for name, value in PLACES[place].items()}
    assert learned(tmp_path / "shop.bitfm", **variables) == here
