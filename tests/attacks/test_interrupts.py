"""One interrupt of some kinds of work; `make fuzz ATTACK=interrupts` has as many as the time allows."""

from __future__ import annotations

import pytest

from attacks import interrupts


@pytest.mark.parametrize("name", ["FM, Gibbs", "Recommender", "evaluate"])
def test_after_an_interrupt_the_next_result_is_the_same(monkeypatch, name):
    monkeypatch.setattr(interrupts, "SOON", 60.0)  # how soon it is, is for `make fuzz` to see
    assert interrupts.interrupted(name, 0.5) in ("interrupted", "done before")
