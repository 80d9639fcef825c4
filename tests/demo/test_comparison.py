"""The speed of every model is that of an exact search."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm.data import Block, Blocks
from bitfm.demo.comparison import queries_per_second
from bitfm.models import FM, BiasModel, DiscreteFM
from bitfm.retrieval import Index


@pytest.mark.parametrize(
    "model",
    [
        BiasModel(),
        FM(4, pairs="across", n_iter=5),
        FM(4, pairs="across", solver="gibbs", n_iter=6, n_samples=5, n_chains=1),
        DiscreteFM(16, pairs="across", max_iter=2),
    ],
    ids=["bias", "als", "gibbs", "codes"],
)
def test_a_search_finds_what_the_model_predicts_to_be_best(small_shop, fitted, model):
    X, y = fitted.training_data(small_shop.train)
    model.fit(X, y)
    tables = {name: block.tables for name, block in X.blocks.items()}
    users, items = Block(np.arange(30), tables["user"]), Block(np.arange(120), tables["item"])
    pairs = Blocks(
        user=Block(np.repeat(users.rows, 120), tables["user"]), item=Block(np.tile(items.rows, 30), tables["item"])
    )
    scores = model.predict(pairs).reshape(30, 120)
    found, _ = Index(model.parameters_, items, "item").search(users, 10)
    best = -np.sort(-scores, axis=1)[:, :10]
    assert np.take_along_axis(scores, found, axis=1) == pytest.approx(best, abs=1e-4)
    assert queries_per_second(model, users, items) > 0
