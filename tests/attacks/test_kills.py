"""Ten kills while a model is saved; `make fuzz ATTACK=kills` has as many as the time allows."""

from __future__ import annotations

import os

import pytest

from attacks.kills import Saver, trial

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs processes to kill")


def test_a_kill_leaves_a_whole_file_and_nothing_else(tmp_path):
    ends = [trial(number, tmp_path)[1]() for number in range(10)]
    assert {end.split(",")[0] for end in ends} <= {"the old one", "the new one"}


def test_half_a_file_would_be_noticed(tmp_path):
    saver = Saver(tmp_path)
    saver.path.write_bytes(saver.path.read_bytes()[:-1])
    with pytest.raises(AssertionError, match="neither the old model nor the new one"):
        saver.look()
    saver.close()
