"""What all tests share."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy comes: threads that wait for the next product spin

import hypothesis
import pytest

from data_marker import pytest_runtest_setup

__all__ = ["pytest_runtest_setup"]

pytest_plugins = ["pytester"]
hypothesis.settings.register_profile("moderate", max_examples=40, deadline=None)
hypothesis.settings.load_profile("moderate")


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch):
    """Let a test that writes many files write them without waiting for each."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
