"""What all tests share."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy comes: threads that wait for the next product spin

import signal
from pathlib import Path
from unittest import mock

import hypothesis
import pytest

from bitfm.models.solvers import teacher
from data_marker import pytest_runtest_setup

__all__ = ["pytest_runtest_setup"]

# Background jobs of a shell, such as those of nohup, ignore Ctrl-C, and so would the processes that tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

pytest_plugins = ["pytester"]
hypothesis.settings.register_profile("moderate", max_examples=40, deadline=None)
hypothesis.settings.load_profile("moderate")

QUICK = {"_RANK": 4, "_CHAINS": 1, "_TRIAL_CHAINS": 1, "_DRAWS": 2, "_KEPT_SWEEPS": 2, "_SWEEPS": 3}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Let codes learn from a quick teacher in tests that name none and are not about the true one."""
    if item.get_closest_marker("true_teacher") or not item.path.is_relative_to(Path(__file__).parent):
        return (yield)
    with mock.patch.multiple(teacher, **QUICK):
        return (yield)


@pytest.fixture
def no_waiting_for_the_disk(monkeypatch):
    """Let a test that writes many files write them without waiting for each."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
