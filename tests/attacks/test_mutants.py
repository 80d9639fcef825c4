"""Files damaged at random are refused by an error that names them, or answer what can be; `make fuzz` tries more."""

from __future__ import annotations

import numpy as np
import pytest

from attacks.mutators import MUTATORS, mutant
from attacks.subjects import subjects

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numbers out of a damaged file may overflow
MUTANTS = 60  # for each file


def test_whole_files_answer(tmp_path):
    for subject in subjects():
        assert subject.survives(subject.file.raw, tmp_path / "whole.bitfm") == "answered", subject.name


@pytest.mark.parametrize("kind", range(8))
def test_mutants_are_refused_or_answer(tmp_path, kind):
    files = subjects()
    assert len(files) == 8
    outcomes = set()
    for number in range(kind, MUTANTS * 8, 8):
        _, raw = mutant(files[kind].file, number)
        outcomes.add(files[kind].survives(raw, tmp_path / "mutant.bitfm"))
    assert {"refused", "answered"} <= outcomes <= {"refused", "refused later", "answered"}


@pytest.mark.parametrize("name", MUTATORS)
def test_a_mutator_does_what_it_says(name):
    file = subjects()[0].file
    mutants = {MUTATORS[name](file, np.random.default_rng(seed)) for seed in range(10)}
    assert len(mutants - {file.raw}) > 2
