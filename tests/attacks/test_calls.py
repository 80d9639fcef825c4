"""The core refuses arguments that are wrong, or makes something of them; `make fuzz ATTACK=calls` tries more."""

from __future__ import annotations

import copy

import pytest

from attacks.calls import call, calls, survives

CALLS = 150  # of each function


@pytest.mark.parametrize("name", calls())
def test_wrong_arguments_are_refused_or_have_a_result(name):
    call(name, copy.deepcopy(calls()[name]))
    assert {survives(name, seed) for seed in range(CALLS)} == {"worked", "refused"}
