"""Ablations change one thing at a time, share what they have in common, and are easy to add."""

from __future__ import annotations

import pytest

from bitfm import FM, DiscreteFM
from bitfm.bench import _plots, ablation
from bitfm.bench._measure import WITH_HISTORY
from bitfm.bench.ablation import ABLATIONS, Ablation, Setting, measure_all
from ratings import small_split


def silent(_):
    pass


def quick():
    models = {"Gibbs": DiscreteFM(8), "ALS": DiscreteFM(8, teacher=FM(rank=4))}
    return Ablation("teacher", {name: Setting(model) for name, model in models.items()})


def lengths():
    return Ablation("code length", {str(b): Setting(DiscreteFM(b)) for b in (8, 16)}, "bits")


@pytest.mark.parametrize("make", ABLATIONS, ids=lambda make: make.__name__)
def test_every_ablation_has_the_default_and_differs_from_it_in_one_thing(make):
    settings = list(make().settings.values())
    default = DiscreteFM().get_params(deep=False)
    changes = []
    for setting in settings:
        mine = setting.model.get_params(deep=False)
        changed = {name for name, value in mine.items() if value != default[name]}
        if setting.fields != WITH_HISTORY:
            changed.add("fields")
        changes.append(changed)
    assert all(len(changed) <= 1 for changed in changes)
    assert len(set().union(*changes)) == 1
    assert set() in changes or make is ablation.samples  # there, the default is spelled out


def test_the_teachers_draws_come_from_one_stretch_of_the_chain_with_the_default_among_them():
    teachers = {name: setting.model.teacher for name, setting in ablation.samples().settings.items()}
    for name, chain in teachers.items():
        assert chain.n_samples == int(name)
        assert chain.n_iter == 40 + chain.n_samples * chain.thin
    default = FM(rank=16, solver="gibbs", n_iter=100)
    assert teachers["30"].get_params() == default.get_params()


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
    figure = _plots.draw_ablation(rows)
    assert [axes.get_title() for axes in figure.axes] == ["teacher", "code length"]
    assert [tick.get_text() for tick in figure.axes[1].get_xticklabels()] == ["8", "16"]
    _plots.save(figure, tmp_path / "ablation")
    assert (tmp_path / "ablation.svg").stat().st_size > 0
