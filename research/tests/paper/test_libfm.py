"""The one libFM: its search for settings, and the program of that name as a second process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from bitfm.data.libfm import read_libfm
from bitfm.errors import DataFileError

from bitfm_research.paper.libfm import (
    TUNED,
    Setting,
    chosen_setting,
    measures_of,
    setting_at,
    tune_libfm,
    with_l2,
)
from bitfm_research.paper.libfm_program import find_libfm, libfm_command, run_libfm
from bitfm_research.paper.results import Measure, Results
from ratings import N_ITEMS, N_USERS, small_split

SETTING = Setting(l2=0.1, linear_l2=0.02, rate=0.01, epochs=4, rmse=1.0)

# A stand-in for the program: the same options and files, the mean rating as its one prediction. What it must find in
# its files and options it checks itself; MODE says how it goes wrong.
STAND_IN = """#!{python}
import sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
mode = {mode!r}
assert set(words) == {{"-task", "-train", "-test", "-dim", "-iter", "-method", "-learn_rate", "-regular", "-init_stdev",
                       "-seed", "-rlog", "-out"}}
assert words["-task"] == "r" and words["-method"] == "sgd"
read = lambda name: [line.split() for line in open(words[name])]
train, test = read("-train"), read("-test")
mean = sum(float(row[0]) for row in train) / len(train)
if mode == "error":
    sys.stderr.write("\\nERROR: unknown method\\n")
    sys.exit(0)
if mode == "crash":
    sys.exit(3)
if mode != "no log":
    with open(words["-rlog"], "w") as log:
        log.write("rmse\\tmae\\ttime_pred\\ttime_learn\\n")
        for epoch in range(int(words["-iter"])):
            log.write(f"1.0\\t0.8\\t{{0.5 - 0.1 * epoch}}\\t2\\n")
with open(words["-out"], "w") as out:
    for number, row in enumerate(test[1:] if mode == "too few" else test):
        out.write("hello\\n" if mode == "words" else f"{{mean + 1e-3 * int(row[-1].split(':')[0])}}\\n")
"""


@pytest.fixture
def program(tmp_path):
    def make(mode=""):
        path = tmp_path / "libFM"
        path.write_text(STAND_IN.format(python=sys.executable, mode=mode))
        path.chmod(0o755)
        return path

    return make


def test_the_search_finds_the_best_rate_and_epochs_for_each_l2_and_refines_the_best():
    split = small_split()
    found = tune_libfm(split, 4, strengths=(0.0, 0.01, 1.0, 100.0), rates=(0.01, 0.03))
    best = min(found, key=lambda it: it.rmse)
    grid = {0.0, 0.01, 1.0, 100.0}
    assert grid <= {it.l2 for it in found}
    middle = best.l2 if best.l2 in grid else min(grid - {0.0}, key=lambda x: abs(np.log(x / best.l2)))
    if middle:
        finer = sorted(it.l2 for it in found if it.l2 not in grid)
        np.testing.assert_allclose(finer, [middle / 10**0.5, middle * 10**0.5])
    assert len({it.linear_l2 for it in found}) == 1
    assert [it.l2 for it in found] == sorted(it.l2 for it in found)
    assert found == tune_libfm(split, 4, strengths=(0.0, 0.01, 1.0, 100.0), rates=(0.01, 0.03))


def test_a_step_too_long_for_the_penalty_is_a_bad_setting_and_no_error():
    found = tune_libfm(small_split(), 4, strengths=(0.1, 1e6), rates=(0.03,))
    assert 0.1 in {it.l2 for it in found}
    assert all(np.isfinite(it.rmse) for it in found)


def test_the_test_part_does_not_matter_to_the_search():
    split = small_split()
    users, items, ratings = split.test
    other = type(split)(**{**split.__dict__, "test": (users, items, ratings[::-1])})
    assert tune_libfm(split, 4, strengths=(0.1,)) == tune_libfm(other, 4, strengths=(0.1,))


def test_settings_come_back_from_the_file_of_results(tmp_path):
    others = [SETTING, Setting(1.0, 0.02, 0.003, 33, 0.9)]
    results = Results(tmp_path / "results.csv")
    results.add(measures_of(others, "yelp", 8))
    results.add(measures_of(others[:1], "yelp", 8, "; features"))
    again = Results(tmp_path / "results.csv")
    assert chosen_setting(again, "yelp", 8) == others[1]
    assert setting_at(again, "yelp", 8, 0.1) == SETTING
    assert chosen_setting(again, "yelp", 8, "; features") == SETTING
    assert {m.method for m in again} >= {TUNED, with_l2(1.0)}
    assert not [m for m in again if m.metric == "NDCG"]
    for missing in ("amazon", 8), ("yelp", 16):
        with pytest.raises(ValueError, match="no tuned FM, SGD"):
            chosen_setting(again, *missing)


def test_a_setting_is_the_model_it_says():
    params = SETTING.model(16, 3).get_params()
    expected = {"rank": 16, "solver": "sgd", "regularization": 0.1, "linear_regularization": 0.02}
    expected |= {"learning_rate": 0.01, "n_iter": 4, "random_state": 3}
    assert {name: params[name] for name in expected} == expected


def test_the_program_gets_both_parts_and_gives_a_score_for_each_test_rating(program):
    split = small_split()
    found = run_libfm(program(), split, SETTING, 8, 0)
    mean = split.train[2].mean()
    np.testing.assert_allclose(found.scores, mean + 1e-3 * (N_USERS + split.test[1]), rtol=0, atol=1e-9)
    assert found.seconds > 0
    assert found.seconds_per_pass == pytest.approx(0.2)  # the least of four epochs
    assert np.isnan(run_libfm(program("no log"), split, SETTING, 8, 0).seconds_per_pass)


def test_the_training_file_is_the_split_in_another_order(program, tmp_path):
    split, kept = small_split(), tmp_path / "kept"
    copy = program()
    copy.write_text(
        copy.read_text().replace("mode = ''", f"mode = ''; import shutil; shutil.copy(words['-train'], {str(kept)!r})")
    )
    run_libfm(copy, split, SETTING, 8, 5)
    X, y = read_libfm(kept, n_features=N_USERS + N_ITEMS)
    expected = split.blocks("train").to_csr()
    order = np.random.default_rng(5).permutation(len(y))
    np.testing.assert_array_equal(y, split.train[2][order])
    assert (expected[order] != X).nnz == 0


@pytest.mark.parametrize(
    ("mode", "error", "message"),
    [
        ("error", ChildProcessError, "ended with code 0 and no scores; it said: ERROR: unknown method"),
        ("crash", ChildProcessError, "ended with code 3"),
        ("too few", DataFileError, "wrote 29. finite scores for 300 test ratings|finite scores for"),
        ("words", DataFileError, "scores that are not numbers"),
    ],
)
def test_a_program_that_goes_wrong_is_said_in_one_sentence(program, mode, error, message):
    with pytest.raises(error, match=message):
        run_libfm(program(mode), small_split(), SETTING, 8, 0)


def test_the_program_is_found_on_the_path_or_where_it_is_said_to_be(program, monkeypatch, tmp_path):
    path = program()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_libfm(None) == path
    assert find_libfm(path) == path.resolve()
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert find_libfm(None) is None
    path.chmod(0o644)
    for wrong in (path, tmp_path, tmp_path / "none"):
        with pytest.raises(FileNotFoundError, match="is not a program"):
            find_libfm(wrong)


def test_the_command_line_is_one_that_the_documented_options_make(program):
    done = subprocess.run(libfm_command(program(), Path("nowhere"), SETTING, 8, 0), capture_output=True, text=True)
    assert "nowhere/train.libfm" in done.stderr  # the options are right; the file is not there


def test_rows_of_the_program_stand_beside_ours(program, tmp_path, monkeypatch):
    from bitfm_research.paper._bench import Bench
    from bitfm_research.paper.jobs import jobs_of
    from bitfm_research.paper.names import LIBFM
    from bitfm_research.paper.plan import Plan
    from bitfm_research.paper.user_scores import UserScores

    split = type(small_split())(**{**small_split().__dict__, "name": "yelp"})
    plan = Plan(tmp_path, ("yelp",), (LIBFM,), (8,), 2, libfm=program())
    results = Results(tmp_path / "results.csv")
    bench = Bench(plan, split, results, UserScores(tmp_path / "users"))
    for job in jobs_of(plan, "yelp"):
        results.add(job.work(bench))
    rows = {(m.seed, m.metric): m for m in results if m.method == LIBFM}
    assert {seed for seed, _ in rows} == {0, 1}
    assert isinstance(rows[0, "RMSE"], Measure)
    n_pairs, n_test = N_USERS * N_ITEMS, len(split.test[2])
    least = 0.5 - 0.1 * (chosen_setting(results, "yelp", 8).epochs - 1)
    assert rows[0, "TTC, ids"].value == pytest.approx(least * n_pairs / n_test)
    assert rows[0, "pairs timed, ids"].value == n_test
