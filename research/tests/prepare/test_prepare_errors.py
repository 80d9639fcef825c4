"""Raw files that are not what they should be: one sentence with the place, or counted and skipped."""

from __future__ import annotations

import gzip
import json
import zipfile

import polars as pl
import pytest
from bitfm import DataFileError

import raw_reviews as raw
from bitfm_research.prepare import AmazonReviews, MovieLens, RatingTable, YelpReviews, prepare

REVIEWS = raw.make_reviews(40)
GOOD = [raw.yelp_line(review) for review in REVIEWS]
CSV = ["user,item,rating,time,text", "ann,tea,5,10,good tea", "bob,tea,4,20,fine"]
NAMES = {"user": "user", "item": "item", "rating": "rating"}


def told(source, **settings):
    with pytest.raises(DataFileError) as caught:
        prepare(source, min_ratings=1, **settings)
    message = str(caught.value)
    assert "\n" not in message
    return message


def record(**changes):
    whole = {"user_id": "u", "business_id": "b", "stars": 4, "date": "2017-01-01", "text": "tea"} | changes
    return json.dumps({name: value for name, value in whole.items() if value != "gone"})


BAD_RECORDS = {
    '{"user_id": "u", "busi': "not a record with user_id, business_id, stars, text, date; is this the right file?",
    "[1, 2]": "not a record with user_id",
    "[" * 100_000: "not a record with",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"): "not a record with",
    record(stars="gone"): "no 'stars' in the record; expected user_id",
    record(user_id="gone"): "no 'user_id' in the record",
    record(business_id="gone"): "no 'business_id' in the record",
    record(stars="many"): "'stars' is the string 'many'; expected a number",
    record(stars=None): "'stars' is None; expected a finite number",
    record(stars=True): "'stars' is True; expected a finite number",
    record(stars=10**400): "'stars' is 1000000000",
    record(stars=float("nan")): "'stars' is nan; expected a finite number",
    record(user_id=""): "'user_id' is ''; expected a non-empty string or a whole number",
    record(user_id=["u"]): "'user_id' is ['u']; expected a non-empty string",
    record(business_id="\ud800"): "'business_id' '\\ud800' holds half of a character",
    record(text=7): "'text' is of type int; expected a string",
    record(date="yesterday"): "'date' is 'yesterday'; expected seconds since 1970 or a date such as",
    record(date=1e300): "'date' is 1e+300; expected seconds",
}


@pytest.mark.parametrize("line", BAD_RECORDS, ids=lambda line: line[:30])
def test_a_bad_record_is_named_by_its_line_or_skipped(tmp_path, line):
    source = YelpReviews(raw.write_lines(tmp_path / "review.json", [*GOOD[:3], "", line, *GOOD[3:]]))
    message = told(source)
    assert message.startswith(f"{source.path}, line 5: ")
    assert BAD_RECORDS[line] in message
    data = prepare(source, min_ratings=1, skip_bad=True)
    assert data.source["skipped_lines"] == 1
    assert data.steps["raw"]["ratings"] == len(GOOD)


@pytest.mark.parametrize(
    "line", ["{'reviewerID': 'u'", "__import__('os')", "{'asin': " * 5000, "{1: 2}}", "{[]: 1}", "\0"]
)
def test_a_bad_literal_is_named_by_its_line(tmp_path, line):
    good = repr(raw.amazon_record(REVIEWS[0]))
    source = AmazonReviews(raw.write_lines(tmp_path / "reviews.json", [good, line]))
    assert told(source).startswith(f"{source.path}, line 2: not a record with reviewerID, asin")
    assert prepare(source, min_ratings=1, skip_bad=True).source["skipped_lines"] == 1


def test_a_review_may_have_no_text_and_no_time(tmp_path):
    source = YelpReviews(
        raw.write_lines(tmp_path / "review.json", [record(text="gone", date="gone"), record(user_id=7)])
    )
    data = prepare(source, min_ratings=1)
    assert list(data.user_ids) == ["u", "7"]
    assert (data.times, list(data.words)) == (None, ["tea"])


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("1::2::3", "3 columns; expected user, item, rating and time with '::' between them"),
        ("1::2::good::4", "the rating is 'good'; expected a finite number"),
        ("::2::3::4", "the user is ''; expected"),
        ("1::2::3::never", "the time is 'never'; expected"),
    ],
)
def test_a_bad_line_of_movielens_is_named(tmp_path, line, problem):
    source = raw.ml_1m(tmp_path, raw.numbered(REVIEWS))
    with open(tmp_path / "ratings.dat", "a") as file:
        file.write(line + "\n")
    assert told(source).startswith(f"{tmp_path / 'ratings.dat'}, line 41: {problem}")
    assert prepare(source, min_ratings=1, skip_bad=True).source["skipped_lines"] == 1


def test_a_bad_line_within_an_archive_is_named(tmp_path):
    path = tmp_path / "ml.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ml-1m/ratings.dat", "1::2::3::4\nwhat\n")
    assert told(MovieLens(path)).startswith(f"{path}, ml-1m/ratings.dat, line 2: 1 columns; expected")


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("cat,tea,many,30,", "the rating in column 'rating' is 'many'; expected a finite number"),
        ("cat,tea,,30,", "the rating in column 'rating' is None"),
        ("cat,tea,inf,30,", "the rating in column 'rating' is 'inf'"),
        (",tea,3,30,", "the user in column 'user' is None; expected a non-empty string"),
        ('cat,"",3,30,', "the item in column 'item' is ''; expected a non-empty string"),
        ("cat,tea,3,noon,", "the time in column 'time' is 'noon'; expected seconds since 1970 or a date"),
        ("cat,tea,3,30,so, so", "more columns than the header has"),
        ("cat,tea", "the rating in column 'rating' is None"),
    ],
)
def test_a_bad_row_is_named_by_its_number_or_skipped(tmp_path, row, problem):
    path = raw.write_lines(tmp_path / "ratings.csv", [*CSV, "", row, "dan,rum,1,40,hic"])
    source = RatingTable(path, **NAMES, time="time", text="text")
    assert told(source).startswith(f"{path}, row 4: {problem}")
    data = prepare(source, min_ratings=1, skip_bad=True)
    assert data.source["skipped_lines"] == 1
    assert list(data.user_ids) == ["ann", "bob", "dan"]
    assert list(data.words) == ["fine", "good", "hic", "tea"]


def test_a_bad_row_of_parquet_is_named(tmp_path):
    path = tmp_path / "ratings.parquet"
    pl.DataFrame({"user": [1, 2, None], "item": [1, 1, 1], "rating": [1.0, float("nan"), 2.0]}).write_parquet(path)
    source = RatingTable(path, **NAMES)
    assert told(source) == f"{path}, row 2: the rating in column 'rating' is nan; expected a finite number"
    data = prepare(source, min_ratings=1, skip_bad=True)
    assert (list(data.user_ids), data.source["skipped_lines"]) == (["1"], 2)


def test_a_missing_column_is_named_and_so_are_those_there(tmp_path):
    path = raw.write_lines(tmp_path / "ratings.csv", CSV)
    source = RatingTable(path, user="user", item="item", rating="stars")
    assert told(source) == f"{path} has no column 'stars'; there are 'user', 'item', 'rating', 'time', 'text'"
    frame = pl.DataFrame({"user": ["a"], "item": [["b"]], "rating": [1]})
    frame.write_parquet(tmp_path / "ratings.parquet")
    source = RatingTable(tmp_path / "ratings.parquet", user="who", item="item", rating="rating")
    assert "has no column 'who'; there are 'user', 'item', 'rating'" in told(source)
    assert "column 'item' is of type List(String); expected text" in told(RatingTable(source.path, **NAMES))


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe\x00", b"PK\x03\x04\0\0"])
def test_a_file_without_a_header_is_no_table(tmp_path, content):
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)
    assert "expected a first line of column names in UTF-8" in told(RatingTable(path, **NAMES))


def test_text_that_is_not_utf8_or_never_ends_is_named(tmp_path, monkeypatch):
    path = tmp_path / "ratings.csv"
    path.write_bytes("\n".join([*CSV, "eve,café,3,30,"]).encode("latin-1"))
    assert told(RatingTable(path, **NAMES)) == f"{path}, near row 3: not UTF-8; convert the file to UTF-8"
    monkeypatch.setattr("bitfm_research.prepare._frames._LONGEST_ROW", 1000)
    monkeypatch.setattr("bitfm_research.prepare._frames._BATCH_BYTES", 100)
    raw.write_lines(path, [CSV[0], 'ann,tea,3,30,"never'] + ["ann,tea,3,30,"] * 100)
    assert "is a quotation mark not closed?" in told(RatingTable(path, **NAMES))


def test_a_damaged_parquet_file_is_named(tmp_path):
    path = raw.write_parquet(tmp_path / "ratings.parquet", REVIEWS)
    path.write_bytes(path.read_bytes()[:-20])
    assert told(RatingTable(path, **raw.COLUMNS)).startswith(f"{path} cannot be read as a Parquet file")


def test_a_cut_or_damaged_archive_is_named(tmp_path):
    source = raw.yelp_zipped(tmp_path, REVIEWS * 20)
    whole = source.path.read_bytes()
    source.path.write_bytes(whole[:-40])
    assert told(source) == f"{source.path}: the compressed data ends too early; get the whole file"
    source.path.write_bytes(whole[:-6] + b"\0" * 6)
    assert told(source).startswith(f"{source.path}: the compressed data is damaged")
    movies = raw.ml_1m_zip(tmp_path, raw.numbered(REVIEWS))
    content = bytearray(movies.path.read_bytes())
    content[60:70] = b"\xff" * 10
    movies.path.write_bytes(content)
    assert "ml-1m/ratings.dat: the compressed data is damaged" in told(movies)


def test_what_is_no_movielens_is_refused(tmp_path):
    (tmp_path / "other").mkdir()
    assert told(MovieLens(tmp_path)) == (
        f"{tmp_path} is not a release of MovieLens; expected one of ratings.dat, ratings.csv, u.data in it"
    )
    (tmp_path / "ratings.dat").write_text("1::2::3::4\n")
    assert "is neither a folder nor a zip archive" in told(MovieLens(tmp_path / "ratings.dat"))
    texts = raw.write_lines(tmp_path / "plots.csv", ["movie", "2"])
    assert told(MovieLens(tmp_path, texts)) == f"{texts} has a single column; expected a movie's id and a text about it"
    raw.write_lines(texts, ["movie,plot", "2,gold,gold", "2,dragon"])
    assert told(MovieLens(tmp_path, texts)) == f"{texts}, row 1: more columns than the header has"
    assert list(prepare(MovieLens(tmp_path, texts), min_ratings=1, skip_bad=True).words) == ["dragon"]


def test_a_missing_file_is_named(tmp_path):
    path = tmp_path / "nowhere"
    for source in (YelpReviews(path), AmazonReviews(path), MovieLens(path), RatingTable(path, **NAMES)):
        with pytest.raises(FileNotFoundError, match=str(path)):
            prepare(source)


@pytest.mark.parametrize("separator", ["::", "", '"', "\n", "é"])
def test_a_separator_is_a_single_character(tmp_path, separator):
    path = raw.write_lines(tmp_path / "ratings.csv", CSV)
    with pytest.raises(ValueError, match="expected a single character such as ';'"):
        prepare(RatingTable(path, **NAMES, separator=separator))


def test_where_nothing_is_left_every_step_is_counted(tmp_path):
    source = YelpReviews(raw.write_lines(tmp_path / "review.json", [record(), record(), record(business_id="c")]))
    with pytest.raises(DataFileError) as caught:
        prepare(source, min_ratings=2)
    assert str(caught.value) == (
        f"{source.path}: no rating is left (as read: 3 ratings of 1 users and 2 items; "
        "one rating per user and item: 2 ratings of 1 users and 2 items; "
        "without users of fewer than 2 ratings: 2 ratings of 1 users and 2 items; "
        "without items of fewer than 2 ratings: 0 ratings of 0 users and 0 items); lower min_ratings (--min-ratings)"
    )


def test_a_file_without_ratings_says_so(tmp_path):
    source = YelpReviews(raw.write_lines(tmp_path / "review.json", []))
    assert told(source) == f"{source.path} holds no ratings"
    raw.write_lines(source.path, ["x", "y"])
    assert told(source, skip_bad=True) == f"{source.path} holds no ratings; 2 lines were skipped as bad"
    source.path.write_bytes(gzip.compress(b""))
    assert told(source) == f"{source.path} holds no ratings"


def test_texts_without_words_say_so(tmp_path):
    source = YelpReviews(raw.write_lines(tmp_path / "review.json", [record(text="and the")]))
    with pytest.raises(ValueError, match="the 1 items left hold no words but stop words; leave the texts out"):
        prepare(source, min_ratings=1)
