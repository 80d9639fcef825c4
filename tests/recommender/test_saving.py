"""A recommender that is opened answers as the one that was saved; a save happens entirely or not at all."""

from __future__ import annotations

import copy
import errno
import json
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import bitfm
from bitfm import ModelFileError, Recommender, persist
from bitfm.data import Category, Ignored, Number
from bitfm.errors import NewerModelFileError
from ratings_of_shop import quick


@pytest.fixture
def path(tmp_path):
    return tmp_path / "shop.bitfm"


def answers(rec, shop):
    """Return all kinds of answers."""
    readers = [*shop.readers["reader"][:20], "nobody"]
    yield rec.recommend(readers, n=30).to_dict(as_series=False)
    yield rec.recommend_new([(100, 5), (103, 1)], {"age_group": "35-49"}, n=30).to_dict(as_series=False)
    yield rec.similar_items(100, n=20).to_dict(as_series=False)
    yield str(rec.explain(readers[0], 101))
    yield rec.predict(shop.ratings).tolist()
    yield rec.evaluate(shop.ratings, without=["user.id"])
    yield rec.describe().to_dict(as_series=False)
    yield (repr(rec), rec.fields, rec.notes, rec.n_users, rec.n_items)


def test_the_same_answers_come_back_bit_for_bit(rec, shop, path):
    rec.notes = {"source": "a generated shop"}
    rec.save(path)
    opened = bitfm.load(path)
    assert list(answers(opened, shop)) == list(answers(rec, shop))


def test_it_can_be_changed_after_opening_as_before(rec, shop, path):
    rec.save(path)
    opened = bitfm.load(path)
    for one in (rec, opened):
        one.add_users({"reader": ["late"], "age_group": ["35-49"]})
        one.add_items({"book": [1], "genre": ["Horror"], "title": ["One"]})
        one.add_ratings({"reader": ["late", "later"], "book": [1, 2], "rating": [5, 1]})
    assert list(answers(opened, shop)) == list(answers(rec, shop))
    rec.save(path)
    opened.save(path.with_name("other.bitfm"))
    assert path.read_bytes() == path.with_name("other.bitfm").read_bytes()
    again = bitfm.load(path)
    assert list(answers(again, shop)) == list(answers(rec, shop))
    assert again.recommend("late", n=200).equals(rec.recommend("late", n=200))


def test_events_and_contexts_come_back(fitted_on_contexts, events, path):
    fitted_on_contexts.save(path)
    opened = bitfm.load(path)
    np.testing.assert_array_equal(opened.predict(events), fitted_on_contexts.predict(events))
    at = {"context": {"daytime": "evening"}}
    assert opened.recommend("p3", **at).equals(fitted_on_contexts.recommend("p3", **at))
    assert opened.recommend_new(["t1", "t2"], **at).equals(fitted_on_contexts.recommend_new(["t1", "t2"], **at))
    more = {"person": ["p3", "late"], "thing": ["t1", "t90"], "daytime": ["evening", None]}
    changed = copy.copy(fitted_on_contexts).add_events(more)
    assert opened.add_events(more).recommend("late", **at).equals(changed.recommend("late", **at))
    for mine, theirs in zip(opened.training_data(events)[0].fields, opened.model_.parameters_.fields, strict=False):
        assert (mine.block, mine.name) == (theirs.block, theirs.name)


def test_an_opened_recommender_outlives_its_file(rec, shop, path):
    rec.save(path)
    opened = bitfm.load(path)
    opened.save(path)  # over the very file it is mapped from
    path.unlink()
    assert list(answers(opened, shop)) == list(answers(rec, shop))


def test_it_can_be_fitted_again(rec, shop, path):
    rec.save(path)
    opened = bitfm.load(path).fit(**shop.tables)
    np.testing.assert_array_equal(opened.model_.codes_, rec.model_.codes_)


def test_the_model_comes_back_too(rec, shop, path):
    rec.save(path)
    model, before = bitfm.load(path).model_, rec.model_
    blocks, _ = rec.training_data(shop.ratings)
    np.testing.assert_array_equal(model.predict(blocks), before.predict(blocks))
    assert model.get_params() == before.get_params()
    assert repr(model.fit_log_) == repr(before.fit_log_)
    assert len(model.index()) == rec.n_items


def test_a_bare_model_is_no_recommender(rec, path):
    rec.model_.save(path)
    assert type(bitfm.load(path)) is type(rec.model_)
    with pytest.raises(ModelFileError, match=r"without a recommender.*bitfm\.load"):
        Recommender.load(path)


def test_settings_come_back_whatever_their_form(rec, path):
    given = {"bits": np.int16(32), "random_state": np.int64(3), "verbose": True, "n_jobs": None, "history": 1}
    for name, value in given.items():
        setattr(rec, name, value)
    rec.save(path)
    opened = Recommender.load(path)
    assert {name: getattr(opened, name) for name in given} == given


def test_settings_that_would_not_come_back_are_not_saved(rec, path):
    rec.half_life = "many"
    with pytest.raises(TypeError, match="save: half_life = 'many' cannot be kept in a file"):
        rec.save(path)
    assert not path.exists()


def test_nothing_is_saved_before_a_fit(path):
    with pytest.raises(ValueError, match="not fitted"):
        Recommender().save(path)
    assert not path.exists()


def test_a_newer_file_is_told_apart(rec, path):
    rec.save(path)
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    header["__metadata__"]["version"] = "99"
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)
    path.unlink()
    path.write_bytes(len(text).to_bytes(8, "little") + text + raw[8 + length :])
    with pytest.raises(NewerModelFileError, match="newer"):
        bitfm.load(path)


def test_opening_does_not_read_the_large_tables(rec, shop, path):
    """Wild content is found when it is used, not before: so it was not read before."""
    rec.save(path)
    contents = persist.read(path)
    tensors = dict(contents.tensors)
    for name in ("tables.log.indices", "tables.user.table.0.singles"):
        tensors[name] = np.full_like(tensors[name], np.iinfo(tensors[name].dtype).max)
    other = path.with_name("other.bitfm")
    persist.write(other, tensors, contents.metadata)
    opened = bitfm.load(other)
    with pytest.raises(ModelFileError, match=r"other\.bitfm: a table is damaged: .*; get a fresh copy"):
        opened.recommend(shop.readers["reader"][0])


@pytest.mark.memory
def test_opening_touches_a_small_part_of_the_file(rec, shop, path):
    """Of many users' worth of log and codes, hardly a page is looked at for one of them."""
    n = 300_000
    rng = np.random.default_rng(0)
    rec.save(path)
    contents = persist.read(path)
    tensors, entries = dict(contents.tensors), 20 * n
    for name, more in (("indices", rng.integers(150, size=entries)), ("values", np.ones(entries))):
        whole = tensors[f"tables.log.{name}"]
        tensors[f"tables.log.{name}"] = np.concatenate([whole, more.astype(whole.dtype)])
    starts = tensors["tables.log.indptr"]
    tensors["tables.log.indptr"] = persist.narrowed(starts, len(tensors["tables.log.indices"]))
    other = path.with_name("large.bitfm")
    persist.write(other, tensors, contents.metadata)
    child = run_python(
        """
        import sys, bitfm
        rec = bitfm.load(sys.argv[1])
        rec.recommend(sys.argv[2])
        text = open("/proc/self/smaps").read().split(sys.argv[1], 1)[1]
        print(next(line for line in text.splitlines() if line.startswith("Rss:")).split()[1])
        """,
        other,
        shop.readers["reader"][0],
    )
    resident = int(child.communicate()[0]) << 10
    assert child.returncode == 0
    assert resident < 0.1 * other.stat().st_size


# Whole or not at all


def run_python(code, *arguments):
    """Start the code in another process that finds the same packages."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


def test_a_full_disk_leaves_the_old_file(rec, shop, path):
    rec.save(path)
    before = path.read_bytes()
    child = run_python(
        """
        import resource, sys
        import bitfm

        rec = bitfm.load(sys.argv[1]).add_users({"reader": ["late"]})
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
        try:
            rec.save(sys.argv[1])
        except OSError as error:
            print(error.errno, error.filename)
        """,
        path,
    )
    assert child.communicate()[0].strip() == f"{errno.EFBIG} {path}"
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == before


def test_a_save_during_changes_is_of_one_state(rec, path):
    """Save and change at once: what is opened is consistent."""

    def change():
        for step in range(10):
            rec.add_ratings({"reader": [f"n{step}"], "book": [1000 + step], "rating": [5]})

    thread = threading.Thread(target=change)
    thread.start()
    while thread.is_alive():
        rec.save(path)
        opened = bitfm.load(path)
        added = opened.n_users - 300
        assert opened.n_items == 150 + added
        assert opened.recommend("nobody", n=400).height == opened.n_items
    thread.join()
    assert rec.n_items == 160


def test_a_frame_of_another_library_comes_back_as_such(shop, path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"user_id": [1, 2, 2], "item_id": [5, 5, 6], "rating": [1.0, 2.0, 3.0]})
    Recommender(bits=8, n_jobs=1).fit(frame).save(path)
    assert isinstance(bitfm.load(path).recommend(1), pd.DataFrame)


def test_the_model_keeps_the_teachers_settings_until_it_is_saved(tmp_path):
    table = {"user_id": [1, 2, 2], "item_id": [5, 5, 6], "rating": [1.0, 2.0, 3.0]}
    rec = Recommender(model=bitfm.DistilledFM(8, teacher=bitfm.FM(3), n_jobs=1)).fit(table)
    teacher = rec.model_.teacher
    assert teacher.rank == 3
    assert not hasattr(teacher, "weights_")
    rec.save(tmp_path / "ratings.bitfm")
    assert bitfm.load(tmp_path / "ratings.bitfm").model_.teacher is None


def test_opening_looks_at_each_tensor_as_often_for_many_columns(tmp_path):
    calls = []
    steps = {}
    for n in (10, 30):
        users = {"user_id": [1, 2, 3]} | {f"c{k}": ["a", "b", "a"] for k in range(n)}
        ratings = {"user_id": [1, 2, 3], "item_id": [1, 2, 1], "rating": [5, 3, 4]}
        Recommender(bits=8, n_jobs=1).fit(ratings, users=users).save(tmp_path / "m")
        bitfm.load(tmp_path / "m")
        calls.clear()
        sys.setprofile(lambda frame, event, argument: calls.append(getattr(argument, "__name__", "")))
        bitfm.load(tmp_path / "m")
        sys.setprofile(None)
        steps[n] = calls.count("startswith")  # looks at the name of a tensor
    assert 0 < steps[30] < 3.1 * steps[10]


def test_kinds_come_back_as_they_were_declared(shop, tmp_path):
    kinds = {"year": Number(bins=4), "item.blurb": "ignore", "genre": Category(max_categories=3)}
    quick(kinds=kinds).fit(**shop.tables).save(tmp_path / "kinds.bitfm")
    opened = bitfm.load(tmp_path / "kinds.bitfm")
    assert opened.kinds == {**kinds, "item.blurb": Ignored()}
    opened.save(tmp_path / "again.bitfm")
    assert (tmp_path / "again.bitfm").read_bytes() == (tmp_path / "kinds.bitfm").read_bytes()
    assert bitfm.load(tmp_path / "again.bitfm").kinds == opened.kinds
