"""Preparing raw ratings, in every form, against the same in plain Python."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from bitfm import DistilledFM
from bitfm.data import Words

import raw_reviews as raw
from bitfm_research.prepare import BadLines, MovieLens, RatingBatch, RatingTable, Source, prepare

REVIEWS = raw.make_reviews()
MOVIES = raw.numbered(REVIEWS)
FORMS = [(form, REVIEWS) for form in [*raw.WITH_TEXTS, raw.amazon_ratings]] + [(form, MOVIES) for form in raw.MOVIELENS]


def found(data):
    pairs = zip(data.user_ids[data.users], data.item_ids[data.items], strict=True)
    return dict(zip(pairs, zip(data.ratings, data.times, strict=True), strict=True))


@pytest.fixture(autouse=True)
def small_batches(monkeypatch):
    """Files of the tests are small; let them come in several batches all the same."""
    monkeypatch.setattr("bitfm_research.prepare._separated._BATCH_BYTES", 1000)
    monkeypatch.setattr("bitfm_research.prepare._frames._BATCH_BYTES", 1000)
    monkeypatch.setattr("bitfm_research.prepare._frames._BATCH_ROWS", 70)


@pytest.mark.parametrize("iterate", [False, True])
@pytest.mark.parametrize(("form", "reviews"), FORMS, ids=lambda value: getattr(value, "__name__", ""))
def test_every_form_gives_what_plain_python_gives(tmp_path, form, reviews, iterate):
    source = form(tmp_path, reviews)
    assert len(list(source.ratings(BadLines()))) > 1
    data = prepare(source, min_ratings=5, iterate=iterate)
    expected = raw.brute_force(reviews, 5, iterate)
    assert list(found(data)) == list(expected)  # in the order of the file
    np.testing.assert_allclose(list(found(data).values()), list(expected.values()))
    assert list(data.user_ids) == raw.in_order(reviews, {user for user, _ in expected}, "user")
    assert list(data.item_ids) == raw.in_order(reviews, {item for _, item in expected}, "item")
    assert data.users.dtype == data.items.dtype == np.int32
    assert (data.ratings.dtype, data.times.dtype) == (np.float64, np.int64)
    assert (data.item_words is not None) == (form in raw.WITH_TEXTS)


def test_one_pass_leaves_users_with_few_ratings_and_the_core_has_none(tmp_path):
    source = raw.yelp(tmp_path, REVIEWS)
    once, core = prepare(source, min_ratings=5), prepare(source, min_ratings=5, iterate=True)
    assert np.bincount(once.items).min() >= 5 > np.bincount(once.users).min()
    assert min(np.bincount(core.items).min(), np.bincount(core.users).min()) >= 5
    assert len(core.ratings) < len(once.ratings)


def test_steps_are_the_counts_after_each(tmp_path):
    data = prepare(raw.yelp(tmp_path, REVIEWS), min_ratings=5, iterate=True)
    pairs = {(r.user, r.item) for r in REVIEWS}
    per_user = Counter(user for user, _ in pairs)
    of_users = {pair for pair in pairs if per_user[pair[0]] >= 5}
    once, core = raw.brute_force(REVIEWS, 5), raw.brute_force(REVIEWS, 5, iterate=True)

    def counts(some, n=None):
        users, items = ({pair[side] for pair in some} for side in (0, 1))
        return {"users": len(users), "items": len(items), "ratings": len(some) if n is None else n}

    assert len(pairs) < len(REVIEWS)
    assert data.steps == {
        "raw": counts(pairs, len(REVIEWS)),
        "averaged": counts(pairs),
        "users_filtered": counts(of_users),
        "items_filtered": counts(once),
        "repeated": counts(core),
    }
    assert data.source == {"format": "yelp", "file": "review.json", "skipped_lines": 0}
    assert data.settings == {"min_ratings": 5, "iterate": True, "max_words": 8000}


def test_ratings_of_a_pair_become_their_mean_at_the_latest_time(tmp_path):
    rows = [raw.Review("u", "i", rating, time, "") for rating, time in ((1, 30), (2, 90), (5, 60))]
    data = prepare(raw.table_csv(tmp_path, rows), min_ratings=1, max_words=0)
    assert (data.ratings.tolist(), data.times.tolist()) == ([8 / 3], [90])


@pytest.mark.parametrize("form", raw.WITH_TEXTS)
def test_words_are_of_all_that_was_written_about_an_item(tmp_path, form):
    data = prepare(form(tmp_path, REVIEWS), min_ratings=5, max_words=6)
    texts = defaultdict(list)
    for review in REVIEWS:  # of users who were dropped, too
        texts[review.item].append(review.text)
    documents = [" ".join(texts[item]) for item in data.item_ids]
    words = Words(6)
    np.testing.assert_allclose(data.item_words.toarray(), words.fit_transform(documents).toarray(), rtol=1e-6)
    assert list(data.words) == list(words.words_)
    assert len(data.words) == 6
    assert not {"the", "and"} & set(data.words)
    assert data.item_words.dtype == np.float32


def test_texts_need_not_be_read(tmp_path):
    data = prepare(raw.yelp(tmp_path, REVIEWS), min_ratings=5, max_words=0)
    assert data.item_words is None
    assert data.words is None


@pytest.mark.parametrize("form", raw.MOVIELENS)
def test_genres_of_movies_are_a_field(tmp_path, form):
    data = prepare(form(tmp_path, MOVIES), min_ratings=1)
    on = [
        [name for name, value in zip(raw.GENRES, row, strict=True) if value]
        for row in data.item_fields["genres"].toarray()
    ]
    assert list(data.item_field_names["genres"]) == raw.GENRES
    assert on == [raw.genres_of(item) for item in data.item_ids]
    assert [] in on


def test_a_movielens_without_movies_has_no_genres(tmp_path):
    source = raw.ml_1m(tmp_path, MOVIES)
    (tmp_path / "movies.dat").unlink()
    assert prepare(source, min_ratings=5).item_fields == {}


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_movies_may_have_texts(tmp_path, suffix):
    raw.ml_1m(tmp_path, MOVIES)
    items = list(dict.fromkeys(r.item for r in MOVIES))
    plots = pl.DataFrame(
        {"movie": [*map(int, items[1:]), 10**6], "plot": ["a dragon, and gold", *["gold"] * (len(items) - 1)]}
    )
    path = tmp_path / f"plots.{suffix}"
    plots.write_parquet(path) if suffix == "parquet" else plots.write_csv(path, separator=",\t"[suffix == "tsv"])
    data = prepare(MovieLens(tmp_path, texts=path), min_ratings=1)
    assert list(data.words) == ["dragon", "gold"]
    np.testing.assert_array_equal(np.diff(data.item_words.indptr)[:3], [0, 2, 1])
    assert list(data.blocks().blocks["item"].tables) == ["words", "genres", "id"]


def test_a_csv_row_may_hold_separators_quotes_and_line_breaks(tmp_path):
    texts = ['one, "two"', "three\nfour\r\nfive", '"', "", 'six\n"seven,\n']
    rows = [raw.Review(f"u{k}", f"i{k % 5}", 3.0, k, texts[k % 5]) for k in range(400)]
    source = raw.table_csv(tmp_path, rows)
    read = [text for batch in source.texts(BadLines()) for text in batch.texts]
    assert read == [row.text for row in rows]
    assert prepare(source, min_ratings=1).steps["raw"]["ratings"] == 400


def test_a_csv_may_begin_with_a_mark_repeat_names_and_have_empty_lines(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_bytes("\ufeffuser,x,item,x,rating\r\nann,1,tea,2,3\r\n\r\nbob,,rum,, 4.5 \r\n".encode())
    data = prepare(RatingTable(path, user="user", item="item", rating="rating"), min_ratings=1)
    assert list(data.user_ids) == ["ann", "bob"]
    assert data.ratings.tolist() == [3, 4.5]
    assert data.times is None


@pytest.mark.parametrize(
    ("when", "seconds"),
    [
        ("978300760", 978300760),
        ("978300760.9", 978300760),
        ("2000-12-31", 978220800),
        ("2000-12-31T23:12:40+01:00", 978300760),
    ],
)
def test_times_are_numbers_or_dates(tmp_path, when, seconds):
    path = raw.write_lines(tmp_path / "r.csv", ["user,item,rating,when", f"a,b,1,{when}"])
    source = RatingTable(path, user="user", item="item", rating="rating", time="when")
    assert prepare(source, min_ratings=1).times.tolist() == [seconds]


def test_where_one_rating_has_no_time_there_are_none(tmp_path):
    path = raw.write_lines(tmp_path / "r.csv", ["user,item,rating,when", "a,b,1,5", "a,c,1,"])
    source = RatingTable(path, user="user", item="item", rating="rating", time="when")
    assert prepare(source, min_ratings=1).times is None


def test_blocks_have_ids_last_and_fit(tmp_path):
    data = prepare(raw.yelp(tmp_path, REVIEWS), min_ratings=5)
    X = data.blocks()
    assert [f"{span.block}.{span.name}" for span in X.fields] == ["user.id", "item.words", "item.id"]
    assert X.shape == (len(data.ratings), len(data.user_ids) + len(data.words) + len(data.item_ids))
    row = X[3].to_csr().toarray().ravel()
    np.testing.assert_array_equal(np.flatnonzero(row[: len(data.user_ids)]), data.users[3])
    np.testing.assert_array_equal(np.flatnonzero(row[-len(data.item_ids) :]), data.items[3])
    mask = np.arange(len(data.ratings)) % 2 == 0
    assert len(data.blocks(mask)) == mask.sum()
    assert [span.name for span in data.blocks(fields=[]).fields] == ["id", "id"]
    with pytest.raises(ValueError, match="no field 'year'; there are words"):
        data.blocks(fields=["year"])
    model = DistilledFM(bits=8, random_state=0).fit(data.blocks(mask), data.ratings[mask])
    assert np.isfinite(model.predict(data.blocks(~mask))).all()


def test_a_source_of_ones_own_is_enough(tmp_path):
    class Few(Source):
        kind = "few"

        def ratings(self, bad):
            for k in range(4):
                yield RatingBatch([f"u{k % 2}"], ["i"], np.array([float(k)]), np.array([k]), k / 4)

    data = prepare(Few(tmp_path), min_ratings=1)
    assert data.ratings.tolist() == [1.0, 2.0]  # the means of 0 and 2, of 1 and 3


@pytest.mark.memory
def test_memory_is_that_of_what_is_kept(tmp_path):
    long = "word " * 2000
    source = raw.yelp(tmp_path, [raw.Review("u", f"i{k}", 3.0, k, long) for k in range(3000)])
    size = source.path.stat().st_size
    code = (
        "import resource, sys, numpy, sklearn.feature_extraction.text, rich.progress\n"
        "from bitfm_research.prepare import YelpReviews, prepare\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "data = prepare(YelpReviews(sys.argv[1]), min_ratings=1, max_words=0)\n"
        "print(len(data.ratings), (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)"
    )
    done = subprocess.run([sys.executable, "-c", code, source.path], capture_output=True, text=True, check=True)
    n, grown = map(int, done.stdout.split())
    assert n == 3000
    assert grown < size  # 30 MB of texts go by and are gone


def test_a_number_in_the_wrong_place_is_refused(tmp_path):
    source = raw.yelp(tmp_path, REVIEWS)
    for settings in ({"min_ratings": 0}, {"min_ratings": 2.5}, {"min_ratings": True}, {"max_words": -1}):
        name, value = next(iter(settings.items()))
        with pytest.raises(ValueError, match=rf"{name} must be a whole number from [01] up, got {value!r}\."):
            prepare(source, **settings)
    with pytest.raises(TypeError, match=r"source is of type str; give a Source such as YelpReviews\(path\)"):
        prepare("review.json")


def test_a_letter_whose_bytes_look_like_the_end_of_a_line_ends_none(tmp_path):
    (tmp_path / "ratings.dat").write_text("1::31::5::978300760\n2::31::3::978300761\n")
    (tmp_path / "movies.dat").write_bytes("31::Å b (1995)::Drama\r\n32::Heat (1995)::Crime\r\n".encode())
    data = prepare(MovieLens(tmp_path), min_ratings=1)
    assert list(data.item_field_names["genres"]) == ["Drama"]
