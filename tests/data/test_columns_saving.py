"""Fitted columns through state and tensors, whole and damaged; text columns; kinds by name."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from bitfm import persist
from bitfm.data import Category, DateParts, Ignored, MultiCategory, Number, Text, Words, kind_of
from bitfm.data.columns.kinds import restore_column
from bitfm.errors import ModelFileError

TEXTS = ["A dragon guards the gold.", "Two thieves steal the gold, and more gold.", None, "Zoë's dragon"]
DATES = ["2001-03-05", "2004-12-31 10:00", None]
_REFUSED = r"^(The|A) column .*(is damaged: .*; save the model again|is of the kind .*registers this kind)\.$"
FITTED = [
    (Category(), ["es", "us", None, "é"]),
    (Category(), [None]),
    (Category(max_categories=1), [3, 3, 4]),
    (MultiCategory(), [["a", "b"], None]),
    (MultiCategory("|"), ["a|b", "b"]),
    (Number(), [1.5, 2.5, None]),
    (Number(bins=3), list(range(50))),
    (Number(), ["none"]),
    (Number(scale="standard"), [1.5, 2.5, None]),
    (Number(scale="standard"), [1.5]),
    (Text(), TEXTS),
    (Text(max_words=2), TEXTS),
    (Text(), ["the", None]),
    (DateParts(), DATES),
    (DateParts(("hour",)), DATES),
    (DateParts(("year", "hour")), [None]),
    (Ignored(), [1, 2]),
]


@pytest.mark.parametrize(("kind", "values"), FITTED)
def test_a_file_keeps_a_column(kind, values, tmp_path):
    values = pl.Series(values)
    column = kind.fit("a name", values)
    persist.write(tmp_path / "column.bitfm", column.tensors(), {"column": json.dumps(column.state())})
    contents = persist.read(tmp_path / "column.bitfm")
    again = restore_column(json.loads(contents.metadata["column"]), contents.tensors)
    assert (again.name, again.kind, again.width, again.facts()) == ("a name", column.kind, column.width, column.facts())
    for feature in range(column.width):
        assert again.label(feature) == column.label(feature)
    asked = pl.concat([values, values, values])
    before, after = column.transform(asked), again.transform(asked)
    np.testing.assert_array_equal(before.toarray(), after.toarray())
    assert again.state() == column.state()
    for name, tensor in column.tensors().items():
        np.testing.assert_array_equal(tensor, again.tensors()[name])


def damaged(state, tensors):
    """Yield states and tensors that are not what any column saves."""
    for key in state:
        yield {k: v for k, v in state.items() if k != key}, tensors
        for wrong in (None, -1, 1.5, True, [], {}, ["x"], {"x": 1}):
            if wrong != state[key]:
                yield state | {key: wrong}, tensors
    yield state | {"more": 1}, tensors
    for key in state["settings"]:
        yield state | {"settings": state["settings"] | {key: -1}}, tensors
    yield state | {"settings": state["settings"] | {"more": 1}}, tensors
    yield state | {"kind": "unknown"}, tensors
    yield state, tensors | {"more": np.zeros(3)}
    for key, tensor in tensors.items():
        yield state, {k: v for k, v in tensors.items() if k != key}
        yield state, tensors | {key: tensor[None]}
        yield state, tensors | {key: tensor.astype(np.float32)}
        if tensor.dtype == np.float64 and tensor.size:
            yield state, tensors | {key: np.full_like(tensor, np.nan)}
            yield state, tensors | {key: np.full_like(tensor, -np.inf)}


@pytest.mark.parametrize(("kind", "values"), FITTED)
def test_damage_is_refused(kind, values):
    column = kind.fit("a name", pl.Series(values))
    for state, tensors in damaged(json.loads(json.dumps(column.state())), column.tensors()):
        with pytest.raises(ModelFileError, match=_REFUSED):
            restore_column(state, tensors)


@pytest.mark.parametrize("state", [None, 3, "text", [], {}, {"name": 3}])
def test_what_is_no_state_is_refused(state):
    with pytest.raises(ModelFileError, match="it has no name"):
        restore_column(state, {})


@pytest.mark.parametrize(
    ("kind", "wrong", "what"),
    [
        (Number(bins=2), {"lows": np.array([1.0, 0.0])}, "do not rise"),
        (Number(bins=2), {"highs": np.array([5.0, 9.0])}, "do not rise"),
        (Number(bins=2), {"highs": np.array([5.0])}, "highs"),
        (Number(scale="standard"), {"spread": np.array(-1.0)}, "'spread' with values outside 0 to inf"),
        (Text(), {"idf": np.ones(1)}, r"'idf' as float64 \(1,\), expected float64 \(6,\)"),
        (Text(), {"idf": np.zeros(6)}, "'idf' with values outside"),
        (Category(), {"sorted": np.array(99)}, "sorted"),
    ],
)
def test_tensors_that_contradict_each_other_are_refused(kind, wrong, what):
    values = TEXTS if kind == Text() else list(range(10))
    column = kind.fit("x", pl.Series(values))
    with pytest.raises(ModelFileError, match=what):
        restore_column(column.state(), column.tensors() | wrong)


def test_words_that_occur_twice_are_refused():
    tensors = Text().fit("x", pl.Series(["gold dragon"])).tensors()
    data, offsets = np.frombuffer(b"goldgold", np.uint8), np.array([0, 4, 8], np.uint8)
    with pytest.raises(ModelFileError, match="2 weights for 1 different words"):
        restore_column(Text().fit("x", pl.Series([""])).state(), tensors | {"bytes": data, "offsets": offsets})


def test_a_text_column_is_words():
    column = Text(max_words=3).fit("plot", pl.Series(TEXTS))
    words = Words(max_words=3).fit([text for text in TEXTS if text is not None])
    assert [column.label(i) for i in range(3)] == words.words_.tolist()
    assert column.facts() == "3 words, TF-IDF"
    np.testing.assert_array_equal(column.transform(pl.Series(TEXTS)).toarray(), words.transform(TEXTS).toarray())
    assert column.transform(pl.Series([], dtype=pl.String)).shape == (0, 3)
    assert column.transform(pl.Series([1, None])).n_entries == 0


def test_words_of_a_single_text_are_kept_among_few_texts_only():
    few, many = [f"gold word{i}" for i in range(99)], [f"gold word{i}" for i in range(100)]
    assert Text().fit("x", pl.Series([*few, None, ""])).width == 100
    assert Text().fit("x", pl.Series(many)).width == 1


@pytest.mark.parametrize("nothing", [[], [None], ["the", "and"], ["!", ""]])
def test_a_text_column_without_words(nothing):
    column = Text().fit("x", pl.Series(nothing, dtype=pl.String))
    assert column.width == 0
    assert column.facts() == "no words"
    assert column.transform(pl.Series(["gold"])).shape == (1, 0)


def test_an_ignored_column_has_no_features():
    column = Ignored().fit("x", pl.Series([1, 2]))
    assert column.facts() == "ignored"
    assert column.transform(pl.Series(["a", None])).shape == (2, 0)
    with pytest.raises(IndexError, match="ignored"):
        column.label(0)


def test_kinds_have_short_names():
    expected = {
        "category": Category(),
        "multi-category": MultiCategory(),
        "number": Number(),
        "standard": Number(scale="standard"),
        "text": Text(),
        "date": DateParts(),
        "ignore": Ignored(),
    }
    for name, kind in expected.items():
        assert kind_of(name) == kind
        assert kind_of(kind) is kind


def test_what_is_no_kind_is_refused():
    with pytest.raises(ValueError, match="no kind 'genre'; the kinds are category, multi-category, number"):
        kind_of("genre")
    with pytest.raises(TypeError, match="give an instance"):
        kind_of(Category)
    with pytest.raises(TypeError, match="got int 3"):
        kind_of(3)
    with pytest.raises(ValueError, match="max_words"):
        Text(max_words=0)
