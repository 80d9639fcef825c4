"""Embeddings: how they are read, what they become, and what is refused."""

import json

import numpy as np
import polars as pl
import pytest

from bitfm.core import available_isas, isa, use_isa
from bitfm.data import Category, Ignored, MultiCategory, Vector, infer_kind
from bitfm.data.columns.kinds import restore_column
from bitfm.data.tables import as_frame
from bitfm.data.vectors import read_vectors, vector_length
from bitfm.errors import ModelFileError, ValueInTableError


def numbers(rows=300, length=12, seed=0):
    """Vectors with as many directions of falling variance."""
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(length, length)))[0]
    return (rng.normal(size=(rows, length)) * np.linspace(3, 0.2, length) @ turn + rng.normal(size=length)).astype("f4")


def written(x):
    """The same vectors, with the second missing, in all forms that tables have."""
    lists = [None if row == 1 else one.tolist() for row, one in enumerate(x)]
    arrays = [None if one is None else np.array(one) for one in lists]
    series = {
        "lists": pl.Series("v", lists),
        "arrays": pl.Series("v", lists, dtype=pl.Array(pl.Float32, x.shape[1])),
        "objects": pl.Series("v", arrays, dtype=pl.Object),
        "tuples": pl.Series("v", [one and tuple(one) for one in lists], dtype=pl.Object),
        "json": pl.Series("v", [one and json.dumps(one) for one in lists]),
        "blanks": pl.Series("v", [" " if one is None else f" {json.dumps(one)} " for one in lists]),
    }
    return {**series, **{f"few {name}": some[:50] for name, some in series.items()}}


@pytest.mark.parametrize("form", written(numbers(3)))
def test_vectors_are_read_however_they_are_written(form):
    x = numbers()
    values = written(x)[form]
    rows, found = read_vectors("v", values)
    kept = np.delete(np.arange(len(values)), 1)
    np.testing.assert_array_equal(rows, kept)
    np.testing.assert_allclose(found, x[kept], rtol=1e-6)
    assert vector_length(values) == 12
    assert isinstance(infer_kind("v", values).kind, Vector)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_arrays_of_rows_and_numbers_are_columns_of_vectors(dtype):
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    x = numbers(5, 3).astype(dtype)
    fixed = pa.FixedSizeListArray.from_arrays(pa.array(x.astype("f4").ravel()), 3)
    tables = [{"v": x}, {"v": list(x)}, pd.DataFrame({"v": list(x)}), pd.DataFrame({"v": x.tolist()})]
    for table in [*tables, pa.table({"v": fixed})]:
        frame, _ = as_frame("items", table)
        np.testing.assert_array_equal(read_vectors("v", frame["v"]).numbers, x.astype("f4"))
        assert infer_kind("v", frame["v"]).reason == "lists of 3 numbers"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([[25, 18], [7, 25], [18, 7]], MultiCategory),  # ids
        ([[0.5, 1.5], [0.5], [1.5, 0.5, 2.0]], MultiCategory),  # of any length
        (["[25, 18]", "[7, 25]", "[18, 7]"], MultiCategory),
        (['["a", 0.5]', '["b", 0.5]', '["a", 0.5]'], MultiCategory),
        ([[1.5], [2.5], [1.5]], MultiCategory),  # one number is no vector
        (["0.5, 1.5", "0.5, 2.5", "2.5, 1.5"], (MultiCategory, Category)),
        (["[0.5, 1", "[0.5, 1", "[0.5, 1"], Ignored),
    ],
)
def test_other_lists_are_no_vectors(values, kind):
    assert isinstance(infer_kind("tags", pl.Series(values)).kind, kind)


@pytest.mark.parametrize("many", [1, 60])
@pytest.mark.parametrize(
    ("value", "what"),
    [
        ([0.5, 1.5], "row 2: a vector of 2 numbers; expected 3, as in other rows"),
        ([0.5, float("nan"), 1.0], r"row 2: a vector with a number that is missing \(NaN\); expected finite"),
        ([0.5, None, 1.0], r"row 2: a vector with a number that is missing \(NaN\); expected finite"),
        ([0.5, float("-inf"), 1.0], "row 2: a vector with -inf; expected finite"),
        ([0.5, 1e36, 1.0], r"row 2: a vector with 1e\+36; expected finite numbers, up to 1e\+30"),
    ],
)
def test_what_is_no_vector_is_refused_by_its_row(value, what, many):
    lists = [[0.0, 1.0, 2.5], value, None, *[[1.0, 2.0, 3.5]] * (2 * many)]
    for values in (pl.Series(lists), pl.Series([one and json.dumps(one) for one in lists])):
        assert isinstance(infer_kind("picture", values).kind, Vector) == (many > 1 or len(value) == 3)
        with pytest.raises(ValueInTableError, match=f"^column 'picture', {what}"):
            Vector().fit("picture", values)


@pytest.mark.parametrize("value", ["red", 0.5, ["a", "b"], [[0.5, 1.0]], {"a": 1}, b"xy", "[0.5, 1", "nan"])
def test_other_values_are_refused_by_their_row(value):
    values = pl.Series([[0.0, 1.0], value], dtype=pl.Object)
    with pytest.raises(ValueInTableError, match=r"column 'v', row 2: .*; expected a list of numbers such as"):
        Vector().fit("v", values)


def test_later_vectors_are_as_long_as_those_of_the_fit():
    column = Vector().fit("v", pl.Series(numbers().tolist()))
    with pytest.raises(ValueInTableError, match="column 'v', row 1: a vector of 2 numbers; expected 12"):
        column.transform(pl.Series([[1.0, 2.0]]))
    np.testing.assert_array_equal(column.transform(pl.Series([None, []], dtype=pl.List(pl.Float64))).toarray(), 0)


def test_features_are_principal_components_of_one_scale():
    x = numbers(rows=2000)
    table = Vector(dimensions=5).fit("v", pl.Series(x)).transform(pl.Series(x))
    found = table.toarray()
    assert table.values.dtype == np.int8
    centred = x - x.mean(axis=0)
    left, spreads, _ = np.linalg.svd(centred, full_matrices=False)
    expected = left[:, :5] * spreads[:5] * np.sqrt(2000 / (spreads[:5] ** 2).sum())
    signs = np.sign((expected * found).sum(axis=0))
    assert np.sum(np.mean(found**2, axis=0)) == pytest.approx(1, rel=0.01)
    np.testing.assert_allclose(found, expected * signs, atol=0.03)
    assert table.scale < 0.03


def test_few_numbers_far_away_do_not_make_all_others_alike():
    x = numbers(rows=2000)
    plain = Vector().fit("v", pl.Series(x)).transform(pl.Series(x)).toarray()
    x[7] = 1e6
    column = Vector().fit("v", pl.Series(x[8:]))
    found = column.transform(pl.Series(x)).toarray()
    assert np.abs(found[7]).max() <= 127 * column.scale * 1.001
    assert np.abs(np.corrcoef(plain[8:, 0], found[8:, 0])[0, 1]) > 0.99


def test_long_vectors_are_cut_to_their_main_directions():
    rng = np.random.default_rng(1)
    few = rng.normal(size=(400, 3))
    x = few @ rng.normal(size=(3, 1500)) + 0.01 * rng.normal(size=(400, 1500))
    column = Vector(dimensions=3).fit("v", pl.Series(x))
    assert column.facts() == "3 directions of 1,500, with 100 % of the variance"
    found = column.transform(pl.Series(x)).toarray()
    left = np.linalg.lstsq(found, few - few.mean(axis=0), rcond=None)[0]
    assert np.abs(found @ left - (few - few.mean(axis=0))).max() < 0.1


def test_vectors_that_say_nothing_have_no_features():
    for values in (pl.Series([[0.1, 0.2]] * 3), pl.Series([None, None], dtype=pl.List(pl.Float64))):
        column = Vector().fit("v", values)
        assert column.width == 0
        assert column.facts() == "no two different vectors"
        assert column.transform(values).shape == (len(values), 0)
    assert not Vector().readable(pl.Series([None, None], dtype=pl.List(pl.Float64)))
    assert infer_kind("v", pl.Series([None, None], dtype=pl.List(pl.Float64))).kind.called == "ignore"


def test_rows_beyond_the_sample_count_alike():
    x = numbers(rows=11_000, length=4)
    table = Vector().fit("v", pl.Series(x)).transform(pl.Series(x))
    assert len(table) == 11_000
    np.testing.assert_allclose(np.mean(table.toarray() ** 2, axis=0).sum(), 1, rtol=0.05)


def test_all_instruction_sets_find_the_same_features():
    x, found, used = pl.Series(numbers()), [], isa()
    try:
        for name in available_isas():
            use_isa(name)
            column = Vector(4).fit("v", x)
            found.append((column.mean.tobytes(), column.axes.tobytes(), column.transform(x).values.tobytes()))
    finally:
        use_isa(used)
    assert len(set(found)) == 1


def test_a_column_of_a_file_is_the_same_or_refused():
    x = pl.Series(numbers())
    column = Vector(4).fit("v", x)
    state, tensors = column.state(), column.tensors()
    again = restore_column(state, tensors)
    np.testing.assert_array_equal(again.transform(x).values, column.transform(x).values)
    assert (again.facts(), again.label(1)) == (column.facts(), "direction 2")
    for wrong in (
        {"axes": tensors["axes"][:3]},
        {"axes": np.tile(tensors["axes"], 2)},
        {"scale": np.array(np.nan, np.float32)},
        {"mean": tensors["mean"].astype(np.float64)},
    ):
        with pytest.raises(ModelFileError, match="The column 'v' of the model is damaged"):
            restore_column(state, tensors | wrong)
    with pytest.raises(ModelFileError, match="damaged"):
        restore_column(state | {"share": "all"}, tensors)


def test_dimensions_are_a_number():
    with pytest.raises(ValueError, match="Vector: dimensions"):
        Vector(0)


def test_arrays_as_numpy_prints_them_are_vectors():
    arrays = np.random.default_rng(0).normal(size=(150, 20)).astype(np.float32)
    printed = pl.Series("cover", [str(each) for each in arrays])  # over several lines
    assert infer_kind("cover", printed).kind == Vector()
    for some in (printed[:9], printed):
        found = read_vectors("cover", some)
        np.testing.assert_allclose(found.numbers, arrays[: len(some)], rtol=1e-5)
    with np.printoptions(threshold=5), pytest.raises(ValueInTableError, match="row 1"):
        read_vectors("cover", pl.Series([str(arrays[0])]))
    assert infer_kind("numbers", pl.Series(["[1 2 3]", "[4 5 6]"] * 20)).kind != Vector()
