"""A dense field of 8 bits per value is the sparse field of the same numbers; what is no such field is refused."""

import numpy as np
import pytest

from bitfm import FM, Block, Blocks, DiscreteFM, DistilledFM, _core
from bitfm.core import side_rows, single_features
from bitfm.data.feature_table import FeatureTable
from spoilt import REFUSED

SCALE = 0.013


@pytest.fixture(autouse=True)
def same_isa_after():
    before = _core.isa()
    yield
    _core.use_isa(before)


def both_forms(n=300, n_items=40, width=20, seed=0, context=False):
    """The same interactions with dense and with sparse vectors; the items 3 and 7 have none."""
    rng = np.random.default_rng(seed)
    users, items = rng.integers(30, size=n), rng.integers(n_items, size=n)
    levels = rng.integers(-127, 128, (n_items, width)).astype(np.int8)
    levels[[3, 7]] = 0
    own = rng.integers(-127, 128, (n, 3)).astype(np.int8)
    found = []
    for make in (FeatureTable.levels, sparse):
        blocks = {"user": Block(users, {"id": FeatureTable.eye(30)})}
        if context:
            blocks["context"] = Block(np.arange(n), {"place": make(own, SCALE)})
        blocks["item"] = Block(items, {"picture": make(levels, SCALE), "id": FeatureTable.eye(n_items)})
        found.append(Blocks(**blocks))
    return (*found, rng.normal(3, 1, n))


def sparse(levels, scale):
    return FeatureTable.of("x", levels * np.float32(scale))


def models():
    return {
        "als": FM(8, n_iter=3),
        "gibbs": FM(8, solver="gibbs", n_samples=4, n_iter=6),
        "sgd": FM(8, solver="sgd", n_iter=2),
        "paper": DiscreteFM(16, max_iter=2),
        "distilled": DistilledFM(16, teacher=FM(8, n_iter=3), validation_fraction=0),
        "with data": DistilledFM(16, teacher=FM(8, n_iter=3), validation_fraction=0, anchor_strength=10.0),
    }


@pytest.mark.parametrize("context", [False, True], ids=["shared rows", "own rows"])
@pytest.mark.parametrize("name", models())
def test_models_learn_the_same_from_either_form(name, context):
    dense, same, y = both_forms(context=context)
    fitted = [models()[name].set_params(n_jobs=jobs).fit(X, y) for X, jobs in ((dense, 1), (dense, 3), (same, 1))]
    if name in ("distilled", "with data"):  # sums over rows are in another order there
        for one in fitted[1:]:
            np.testing.assert_allclose(one.predict(same), fitted[0].predict(dense), atol=1e-4)
    else:
        assert len({one.predict(X).tobytes() for one in fitted for X in (dense, same)}) == 1
    assert fitted[0].predict(dense).tobytes() == fitted[1].predict(dense).tobytes()


@pytest.mark.parametrize("isa", _core.available_isas())
def test_rows_and_scores_are_those_of_the_sparse_form(isa):
    _core.use_isa(isa)
    dense, same, y = both_forms(context=True)
    model = DistilledFM(16, teacher=FM(8, n_iter=1), validation_fraction=0, n_jobs=1).fit(same, y)
    for across in (False, True):
        given = 0.5, model.weights_, model.codes_, model.gains_, across, True, 2
        rows = [side_rows(X.design(), *given) for X in (dense, same)]
        for one, other in zip(*rows, strict=True):
            assert one.tobytes() == other.tobytes()
    assert model.predict(dense).tobytes() == model.predict(same).tobytes()
    levels = np.array([[0, 2], [0, 0], [1, 1]], np.int8)
    bare = Blocks(item=Block(np.arange(3), {"x": FeatureTable.levels(levels, 0.5)}))
    feature, amount = single_features(bare.design(), np.ones(2, np.float32), 1)
    assert (feature.tolist(), amount.tolist()) == ([1, -1, -2], [1.0, 0.0, 0.5])


@pytest.mark.parametrize("design", [_core.Design32, _core.Design64])
def test_what_is_no_dense_field_is_refused(design):
    levels = np.ones((3, 2), np.int8)
    made = design()
    made.add_block(3, np.array([0, 2], np.int32))
    for wrong in ((levels[:2], 1.0), (levels[None], 1.0), (levels.astype(np.int16), 1.0), (levels.T, 1.0)):
        with pytest.raises(REFUSED):
            made.add_dense(*wrong)
    for scale in (np.inf, np.nan, 3e38):
        with pytest.raises(REFUSED, match="scale"):
            made.add_dense(levels, scale)
    made.add_dense(levels, 0.5)


def test_empty_dense_fields_have_no_features():
    rng = np.random.default_rng(0)
    users, y = rng.integers(5, size=40), rng.normal(size=40)
    for levels in (np.zeros((5, 0), np.int8), np.zeros((5, 2), np.int8)):
        X = Blocks(user=Block(users, {"v": FeatureTable.levels(levels, 1.0)}), item=Block(users, {"id": np.eye(5)}))
        for solver in ("als", "sgd", "gibbs"):
            model = FM(4, solver=solver, n_iter=2).fit(X, y)
            assert np.isfinite(model.predict(X)).all()
