"""Items and users that are known by vectors: planted tastes, changes, files and explanations."""

import copy
import json

import numpy as np
import polars as pl
import pytest

from bitfm import DiscreteFM, ImplicitFM, Recommender, load
from bitfm.errors import ValueInTableError

N_USERS, N_ITEMS, N_COLD = 200, 250, 50


class Planted:
    """Tastes that are linear in eight numbers of an item, which its vector holds, alone or among others."""

    def __init__(self, length=8, n_others=0, seed=0):
        self.rng = rng = np.random.default_rng(seed)
        numbers = rng.standard_normal((N_ITEMS + N_COLD, 8 + n_others))
        self.truth = rng.standard_normal((N_USERS, 8)) @ numbers[:, :8].T / np.sqrt(8)
        self.vectors = numbers
        if length > 8:
            spreads = rng.permutation(np.linspace(2, 0.3, 8 + n_others)) if n_others else np.ones(8)
            directions = np.linalg.qr(rng.standard_normal((length, 8 + n_others)))[0]
            noise = 0.05 * rng.standard_normal((N_ITEMS + N_COLD, length))
            self.vectors = (spreads * numbers) @ directions.T + noise
        self.items = pl.DataFrame({"item_id": [f"i{i}" for i in range(N_ITEMS + N_COLD)]})
        self.items = self.items.with_columns(pl.Series("picture", self.vectors.astype(np.float32)))

    def ratings(self, n=12_000, noise=0.3):
        users, items = np.divmod(self.rng.choice(N_USERS * N_ITEMS, n, replace=False), N_ITEMS)
        rated = 3 + self.truth[users, items] + noise * self.rng.standard_normal(n)
        return self.pairs(users, items).with_columns(pl.Series("rating", rated))

    def events(self, each=40):
        """Each user has what a softmax of the truth draws."""
        preferred = 2 * self.truth[:, :N_ITEMS] + self.rng.gumbel(size=(N_USERS, N_ITEMS))
        best = np.argsort(-preferred, axis=1)[:, :each]
        return self.pairs(np.repeat(np.arange(N_USERS), each), best.ravel())

    @staticmethod
    def pairs(users, items):
        return pl.DataFrame({"user_id": [f"u{u}" for u in users], "item_id": [f"i{i}" for i in items]})

    def correlation(self, rec):
        """How well the scores of cold items go with the truth, over all users."""
        users, items = np.divmod(np.arange(N_USERS * N_COLD), N_COLD)
        scores = rec.predict(self.pairs(users, items + N_ITEMS))
        return np.corrcoef(scores, self.truth[users, items + N_ITEMS])[0, 1]


@pytest.fixture(scope="module")
def planted():
    return Planted()


@pytest.fixture(scope="module")
def fitted(planted):
    """Recommenders of ratings and of events, by whether there is a target."""
    items = planted.items[:N_ITEMS]
    return {
        "ratings": Recommender().fit(planted.ratings(), items=items),
        "events": Recommender(model=ImplicitFM(64, tune=False)).fit(planted.events(), items=items, target=None),
    }


@pytest.fixture(params=["ratings", "events"])
def rec(fitted, request):
    return copy.copy(fitted[request.param])


# Accuracy


@pytest.mark.true_teacher
@pytest.mark.parametrize(("length", "n_others", "least"), [(8, 0, 0.95), (384, 0, 0.95), (384, 32, 0.9)])
def test_items_known_by_a_vector_alone_are_rated_well(length, n_others, least):
    shop = Planted(length, n_others)
    assert shop.correlation(Recommender().fit(shop.ratings(), items=shop.items)) > least


@pytest.mark.parametrize(("length", "n_others", "least"), [(8, 0, 0.9), (384, 32, 0.7)])
def test_items_known_by_a_vector_alone_are_found_by_events(length, n_others, least):
    shop = Planted(length, n_others)
    assert shop.correlation(Recommender().fit(shop.events(), items=shop.items, target=None)) > least


def test_the_papers_model_learns_from_vectors(planted):
    rec = Recommender(model=DiscreteFM(64)).fit(planted.ratings(), items=planted.items)
    assert planted.correlation(rec) > 0.5


@pytest.mark.true_teacher
@pytest.mark.parametrize("target", ["rating", None])
def test_users_known_by_a_vector_alone_are_served_well(planted, target):
    turned = (planted.ratings() if target else planted.events()).rename({"user_id": "item_id", "item_id": "user_id"})
    rec = Recommender().fit(turned, users=planted.items[:N_ITEMS].rename({"item_id": "user_id"}), target=target)
    found = []
    for new in range(N_ITEMS, N_ITEMS + N_COLD):
        best = rec.recommend_new(features={"picture": planted.vectors[new]}, n=N_USERS)
        truth = planted.truth[[int(item[1:]) for item in best["item"]], new]
        found.append(np.corrcoef(best["score"], truth)[0, 1])
    assert np.mean(found) > 0.9


def test_a_vector_of_the_context_counts():
    rng, shop = np.random.default_rng(1), Planted()
    ratings = shop.ratings()
    mood, liking = rng.standard_normal((len(ratings), 3)), rng.standard_normal((N_ITEMS + N_COLD, 3))
    extra = [liking[int(item[1:])] @ one for item, one in zip(ratings["item_id"], mood, strict=True)]
    ratings = ratings.with_columns(pl.Series("mood", mood), rating=pl.col("rating") + pl.Series(extra))
    rec = Recommender().fit(ratings, items=shop.items[:N_ITEMS], context=["mood"])
    wanted = mood[0] / np.linalg.norm(mood[0])
    base, there = (
        rec.recommend_new(context={"mood": one}, n=N_ITEMS).sort("item") for one in ([0.0] * 3, (2 * wanted).tolist())
    )
    gained = there["score"].to_numpy() - base["score"].to_numpy()
    truth = [liking[int(item[1:])] @ wanted for item in base["item"]]
    assert np.corrcoef(gained, truth)[0, 1] > 0.8


# Tables


def test_vectors_in_json_and_in_arrays_are_the_same(planted, tmp_path):
    csv = tmp_path / "items.csv"
    written = [json.dumps(one) for one in planted.items["picture"].to_list()]
    planted.items.with_columns(pl.Series("picture", written)).write_csv(csv)
    rows = {"item_id": planted.items["item_id"], "picture": planted.vectors.astype("f4")}
    ratings = planted.ratings(3000)
    fits = [Recommender(model=DiscreteFM(16, max_iter=2)).fit(ratings, items=items) for items in (csv, rows)]
    files = []
    for number, rec in enumerate(fits):
        rec.save(tmp_path / f"{number}.bitfm")
        files.append((tmp_path / f"{number}.bitfm").read_bytes())
    assert files[0] == files[1]


def test_describe_says_what_became_of_a_vector(rec):
    note = rec.describe().row(by_predicate=pl.col("column") == "picture", named=True)
    assert (note["kind"], note["features"]) == ("vector", 8)
    assert note["why"] == "lists of 8 numbers: 8 directions of 8, with 100 % of the variance"


def test_wrong_vectors_are_refused_by_column_and_row(rec, planted):
    before = rec.recommend("u0", n=5)
    items = {"item_id": ["new", "newer"], "picture": [planted.vectors[0].tolist(), [0.5, 1.0]]}
    with pytest.raises(ValueInTableError, match="column 'picture', row 2: a vector of 2 numbers; expected 8"):
        rec.add_items(items)
    items["picture"][1] = [np.nan] * 8
    with pytest.raises(ValueInTableError, match="column 'picture', row 2: a vector with a number that is missing"):
        rec.add_items(items)
    assert rec.recommend("u0", n=5).equals(before)
    assert len(rec.items) == N_ITEMS


# Changes


def test_items_that_are_added_are_scored_by_their_vectors(rec, planted):
    rec.add_items(planted.items[N_ITEMS:])
    assert planted.correlation(rec) > 0.6
    old, new = Planted.pairs([3], [0]), Planted.pairs([3], [N_ITEMS])
    scores = rec.predict(new)
    rec.add_items({"item_id": [f"i{N_ITEMS}"], "picture": [planted.vectors[0]]})
    assert rec.predict(new) != pytest.approx(scores)
    rec.add_items({"item_id": [f"i{N_ITEMS}"], "picture": [None]})  # of which nothing is known any more
    rec.add_items({"item_id": ["unknown"]})
    np.testing.assert_allclose(rec.predict(new), rec.predict({"user_id": ["u3"], "item_id": ["unknown"]}), rtol=1e-5)
    assert np.isfinite(rec.predict(old)).all()


def test_removed_items_take_their_vectors_along(rec, planted, tmp_path):
    rec.add_items(planted.items[N_ITEMS:])
    table = rec.state.items.tables[0]
    gone = [f"i{i}" for i in range(0, N_ITEMS + N_COLD, 2)]
    secret = table.take(rec.state.items.indices_of(gone[:1])).values.tobytes()
    rec.save(tmp_path / "whole.bitfm")
    rec.remove_items(gone)
    rec.save(tmp_path / "rest.bitfm")
    assert secret in (tmp_path / "whole.bitfm").read_bytes()
    assert secret not in (tmp_path / "rest.bitfm").read_bytes()
    left = rec.state.items.tables[0]
    assert left.shape == ((N_ITEMS + N_COLD) // 2, 8)
    assert np.isfinite(rec.predict(Planted.pairs([5], [9]))).all()


def test_a_file_keeps_eight_bits_of_each_number(rec, planted, tmp_path):
    rec.add_items(planted.items[N_ITEMS:])
    path = tmp_path / "shop.bitfm"
    rec.save(path)
    again = load(path)
    table = again.state.items.tables[0]
    assert table.values.dtype == np.int8
    assert table.values.shape == (N_ITEMS + N_COLD, 8)
    pairs = Planted.pairs(*np.divmod(np.arange(400), 300))
    np.testing.assert_array_equal(again.predict(pairs), rec.predict(pairs))
    late = {"item_id": ["late"], "picture": [planted.vectors[1]]}
    asked = {"user_id": ["u1"], "item_id": ["late"]}
    assert again.add_items(late).predict(asked) == rec.add_items(late).predict(asked)


# Explanations


def test_a_vector_is_one_part_of_an_explanation(planted):
    rec = Recommender().fit(planted.ratings(), items=planted.items)
    why = rec.explain("u3", f"i{N_ITEMS}")
    assert why.score == pytest.approx(rec.predict(Planted.pairs([3], [N_ITEMS]))[0], abs=1e-5)
    of_vector = [share.name for share in why.features if share.name.startswith("item.picture")]
    assert of_vector == ["item.picture"]
    assert {pair.names[1] for pair in why.pairs if pair.names[1].startswith("item.picture")} == {"item.picture"}
    assert "user.id with item.picture" in why.by_field()
    assert "direction" not in str(why)


def test_a_vector_of_a_user_is_one_part_of_an_event(planted):
    turned = planted.events().rename({"user_id": "item_id", "item_id": "user_id"})
    model = ImplicitFM(64, tune=False)
    rec = Recommender(model=model).fit(turned, users=planted.items.rename({"item_id": "user_id"}), target=None)
    why = rec.explain("i3", "u7")
    assert [share.name for share in why.features if share.name.startswith("user.picture")] == ["user.picture"]
    assert why.score == pytest.approx(rec.predict({"user_id": ["i3"], "item_id": ["u7"]})[0], abs=1e-4)
    assert "user.picture" in why.by_field()
