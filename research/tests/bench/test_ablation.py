"""Ablations change one thing at a time, share what they have in common, and are easy to add."""

from __future__ import annotations

import pytest
from bitfm import FM, DistilledFM

from bitfm_research.bench import ablation, plots
from bitfm_research.bench.ablation import ABLATIONS, Ablation, Setting, measure_all
from bitfm_research.bench.measure import WITH_HISTORY
from ratings import small_split


def silent(_):
    pass


def quick():
    models = {"Gibbs": DistilledFM(8), "ALS": DistilledFM(8, teacher=FM(rank=4))}
    return Ablation("teacher", {name: Setting(model) for name, model in models.items()})


def lengths():
    return Ablation("code length", {str(b): Setting(DistilledFM(b)) for b in (8, 16)}, "bits")


OF_GIBBS = (ablation.draws, ablation.chains, ablation.sweeps, ablation.rank)


@pytest.mark.parametrize("make", ABLATIONS, ids=lambda make: make.__name__)
def test_every_ablation_differs_from_the_default_in_one_thing_and_has_it_to_compare_with(make):
    settings = list(make().settings.values())
    default = DistilledFM().get_params(deep=False)
    changes = []
    for setting in settings:
        mine = setting.model.get_params(deep=False)
        changed = {name for name, value in mine.items() if value != default[name]}
        if setting.fields != WITH_HISTORY:
            changed.add("fields")
        changes.append(changed)
    short = {"bits"} if make in (ablation.gains, ablation.strength) else set()  # 8 bits show more of some things
    assert all(len(changed - short) <= 1 for changed in changes)
    assert len(set().union(*changes) - short) == 1
    assert set() in changes or make in OF_GIBBS or make is ablation.strength


@pytest.mark.parametrize("make", [ablation.draws, ablation.chains, ablation.sweeps])
def test_the_teachers_chains_keep_what_the_ablation_says(make):
    split = small_split()
    X, y = split.blocks("train"), split.train[2]
    for name, setting in make().settings.items():
        chain = setting.model.teacher
        kept = len(chain.set_params(rank=2).fit(X, y).samples_.biases)
        assert kept == {"draws": int(name), "chains": min(64, 32 * int(name)), "sweeps": 64}[make.__name__]
        if make is ablation.sweeps:
            assert chain.n_iter_ == int(name)


@pytest.mark.parametrize("make", OF_GIBBS)
def test_the_default_chains_are_among_those_compared(make):
    default = FM(rank=16, solver="gibbs").get_params()
    assert default in [setting.model.teacher.get_params() for setting in make().settings.values()]


def test_ablations_can_be_selected():
    assert ablation.select(None) == list(ABLATIONS)
    assert ablation.select(["rank", "bits"]) == [ablation.rank, ablation.bits]
    with pytest.raises(ValueError, match=r"one of 'bits', 'gains', .* got 'colour'"):
        ablation.select(["colour"])


def test_defaults_are_settled_without_the_test_part(monkeypatch):
    whole = small_split()
    monkeypatch.setattr(ablation, "load", lambda *_: whole)
    monkeypatch.setattr(ablation, "need_data", lambda folder: folder)
    ((split, rows),) = ablation.run(seeds=1, ablations=[lengths], held_out=True, say=silent)
    assert len(split.train[0]) + len(split.test[0]) == len(whole.train[0])
    assert {row["split"] for row in rows} == {"20% of the training part to validate"}


def test_what_two_ablations_have_in_common_is_measured_once(monkeypatch):
    fitted = []

    def record(split, model, fields):
        fitted.append((model.bits, model.teacher, fields))
        return {"NDCG@10": 0.5, "fields": "ids"}

    monkeypatch.setattr(ablation, "measure", record)
    rows = measure_all(small_split(), 3, (quick, lengths), silent)
    assert [(row["ablation"], row["setting"], row["seed"]) for row in rows] == [
        ("teacher", "Gibbs", 3), ("teacher", "ALS", 3), ("code length", "8", 3), ("code length", "16", 3),
    ]  # fmt: skip
    assert len(fitted) == 3


def test_rows_and_picture_are_of_all_settings(tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    rows = [row for seed in (0, 1) for row in measure_all(small_split(seed), seed, (quick, lengths), silent)]
    figure = plots.draw_ablation(rows)
    assert [axes.get_title() for axes in figure.axes] == ["teacher", "code length"]
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == ["8", "16"]
    plots.save(figure, tmp_path / "ablation")
    assert (tmp_path / "ablation.svg").stat().st_size > 0
