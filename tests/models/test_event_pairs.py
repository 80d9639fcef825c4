"""``DiscreteFM(loss="bpr")``: events as pairs of items, the one chosen and one that was not."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.utils import check_random_state

import bitfm
from bitfm import Block, Blocks, DiscreteFM
from bitfm.core import pack_signs, unpack_codes
from bitfm.models.solvers.event_pairs import EventPairs
from problems import random_blocks, scores

SHAPES = ("bare", "context", "shared", "mixed")


def events(kind, n=12):
    """Few enough that not every item is chosen by all; a row of an event is no query of its own."""
    return random_blocks(kind, n=n, seed=3)


def item_name(X):
    return "item" if "item" in X.blocks else list(X.blocks)[-1]


def with_items(X, event, rows):
    """The interactions of some events, with other items."""
    taken = X[event].blocks
    return Blocks(**(taken | {item_name(X): Block(rows, X.blocks[item_name(X)].tables)}))


def pairs_of(model, X):
    rng = np.random.default_rng(check_random_state(model.random_state).randint(2**31))
    return EventPairs.draw(X, model.negatives, rng)


def losses(model, X):
    """Σ (2 bits)² (1 − the difference of scores)², by two predictions."""
    pairs = pairs_of(model, X)
    chosen = X.blocks[item_name(X)].rows[pairs.event]
    higher, lower = (model.predict(with_items(X, pairs.event, rows)) for rows in (chosen, pairs.drawn))
    return float(np.sum((2 * model.bits) ** 2 * (1 - (higher - lower)) ** 2))


@pytest.mark.parametrize("kind", SHAPES)
def test_scores_of_pairs_are_differences_of_scores(kind):
    X, rng = events(kind), np.random.default_rng(0)
    pairs = EventPairs.draw(X, 3, rng)
    w, V = rng.normal(size=X.n_features), rng.normal(size=(X.n_features, 4))
    chosen = X.blocks[item_name(X)].rows[pairs.event]
    higher, lower = (scores(with_items(X, pairs.event, rows), 0, w, V, True) for rows in (chosen, pairs.drawn))
    of_items = np.concatenate([np.full(f.size, f.block == item_name(X)) for f in X.fields])
    found = scores(pairs.blocks, 0, (w * of_items)[pairs.features], V[pairs.features], True)
    np.testing.assert_allclose(found, higher - lower, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", SHAPES)
def test_what_is_drawn_was_not_chosen_in_the_same_query(kind):
    X = events(kind)
    pairs = EventPairs.draw(X, 20, np.random.default_rng(0))
    rows = np.stack([block.rows for name, block in X.blocks.items() if name != item_name(X)], axis=1)
    chosen = {(*query, item) for query, item in zip(rows.tolist(), X.blocks[item_name(X)].rows, strict=True)}
    drawn = {(*query, item) for query, item in zip(rows[pairs.event].tolist(), pairs.drawn, strict=True)}
    assert drawn
    assert not chosen & drawn
    assert set(pairs.drawn) == set(range(X.blocks[item_name(X)].n_rows))


@pytest.mark.parametrize("kind", SHAPES)
def test_the_loss_is_that_of_the_models_own_scores(kind):
    X = events(kind)
    model = DiscreteFM(bits=8, loss="bpr", pairs="across", alpha=0.5, negatives=2).fit(X)
    assert model.fit_log_[-1].loss == pytest.approx(losses(model, X), rel=1e-4)
    assert model.bias_ == 0


def test_with_ids_all_pairs_are_those_across():
    X = events("bare")
    all_pairs, across = (DiscreteFM(bits=8, loss="bpr", pairs=pairs).fit(X) for pairs in ("all", "across"))
    assert all_pairs.codes_.tobytes() == across.codes_.tobytes()
    plain = DiscreteFM(bits=8, loss="bpr").fit(X.to_csr())  # recognised as ids, the last field of which are items
    assert len(plain.codes_) == X.n_features


def test_no_bit_is_left_whose_flip_would_lower_the_loss():
    X = events("shared")
    model = DiscreteFM(bits=8, loss="bpr", pairs="across", beta=0, linear=False, max_iter=100, tol=0).fit(X)
    signs, least = unpack_codes(model.codes_), losses(model, X)
    for i, t in np.ndindex(signs.shape):
        flipped = signs.copy()
        flipped[i, t] *= -1
        model.codes_ = pack_signs(flipped.astype(float))
        assert losses(model, X) >= least * (1 - 1e-4)


@pytest.mark.parametrize("kind", SHAPES)
def test_the_objective_never_rises(kind):
    model = DiscreteFM(bits=8, loss="bpr", pairs="across", tol=0).fit(events(kind, n=40))
    for stage in ("relaxed", "codes"):
        trace = np.array([item.objective for item in model.fit_log_ if item.stage == stage])
        assert (np.diff(trace) <= 1e-5 * np.abs(trace[:-1])).all()


def test_threads_do_not_change_a_byte():
    rng = np.random.default_rng(0)
    rows = [rng.integers(n, size=6000) for n in (300, 400)]  # enough for threads to share columns
    X = Blocks(**{name: Block(r, {"id": sp.identity(400)}) for name, r in zip(("user", "item"), rows, strict=True)})
    fits = [DiscreteFM(bits=16, loss="bpr", init_iter=2, max_iter=2, n_jobs=n).fit(X) for n in (1, 2, 3)]
    assert len({fit.codes_.tobytes() + fit.weights_.tobytes() for fit in fits}) == 1


def test_it_ranks_what_each_half_of_the_users_likes():
    users, items = np.nonzero(np.add.outer(np.arange(20), np.arange(20)) % 2 == 0)
    seen = (users + items) % 10 < 8
    X = Blocks(user=Block(users, {"id": sp.identity(20)}), item=Block(items, {"id": sp.identity(20)}))
    model = DiscreteFM(bits=8, loss="bpr").fit(X[seen], np.ones(seen.sum()))
    table = model.predict_pairs(np.repeat(np.arange(20), 20), np.tile(np.arange(20), 20)).reshape(20, 20)
    alike = np.add.outer(np.arange(20), np.arange(20)) % 2 == 0
    assert all(row[liked].min() > row[~liked].max() for row, liked in zip(table, alike, strict=True))


def test_a_file_keeps_the_loss(tmp_path):
    X = events("shared")
    model = DiscreteFM(bits=8, loss="bpr", pairs="across", negatives=3).fit(X)
    model.save(tmp_path / "ranks.bitfm")
    loaded = bitfm.load(tmp_path / "ranks.bitfm")
    assert (loaded.loss, loaded.negatives) == ("bpr", 3)
    assert (loaded.predict(X) == model.predict(X)).all()


def test_errors():
    X, one = events("bare"), events("plain")
    with pytest.raises(ValueError, match=r"y has 0\.5, but with loss='bpr' each interaction is an event"):
        DiscreteFM(8, loss="bpr").fit(X, np.full(len(X), 0.5))
    with pytest.raises(ValueError, match="2D array"):
        DiscreteFM(8, loss="bpr").fit(3)
    with pytest.raises(ValueError, match="requires y"):
        DiscreteFM(8).fit(X)
    with pytest.raises(ValueError, match="X has only one block; give Blocks, or fields="):
        DiscreteFM(8, loss="bpr").fit(one)
    with pytest.raises(ValueError, match="the items have several; give pairs='across'"):
        DiscreteFM(8, loss="bpr").fit(events("shared"))
    with pytest.raises(ValueError, match="loss must be one of"):
        DiscreteFM(8, loss="warp").fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="negatives"):
        DiscreteFM(8, loss="bpr", negatives=0).fit(X)
    everything = Blocks(user=Block([0, 0], {"id": np.ones((1, 1))}), item=Block([0, 1], {"id": sp.identity(2)}))
    with pytest.raises(ValueError, match="found no item that was not chosen"):
        DiscreteFM(8, loss="bpr").fit(everything)
