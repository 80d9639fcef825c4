"""Progress is for terminals."""

from __future__ import annotations

import io
import sys
import threading

from bitfm.cli import progress, screen
from bitfm.cli.fit import peak_megabytes
from bitfm.cli.progress import busy, fit_progress
from bitfm.models import Iteration


class Terminal(io.StringIO):
    def isatty(self):
        return True


def iterations():
    return [Iteration("teacher", number, 3, 1.0, 1.0) for number in (1, 2, 3)]


def test_nothing_is_written_to_a_pipe_of_what_is_done_at_once(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with fit_progress() as callback:
        told = [callback(iteration) for iteration in iterations()]
    assert sys.stderr.getvalue() == ""
    assert told == [None] * 3  # True would stop the fit


def test_a_pipe_gets_a_line_now_and_then(monkeypatch):
    """Also while nobody calls back; nothing moves the cursor, and nothing comes after the end."""
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with fit_progress("trial 2") as callback:
        callback(iterations()[1])
        wait_for("trial 2: learning real factors, 2 of 3, 0 s\n")
    with busy("reading ratings.csv"):
        wait_for("reading ratings.csv, 0 s\n")
    said = sys.stderr.getvalue()
    assert "\x1b" not in said
    threading.Event().wait(0.05)
    assert sys.stderr.getvalue() == said


def wait_for(line):
    for _ in range(1000):
        if line in sys.stderr.getvalue():
            return
        threading.Event().wait(0.01)
    raise AssertionError(sys.stderr.getvalue())


def test_quietly_neither_a_pipe_nor_a_terminal_gets_anything(monkeypatch):
    monkeypatch.setattr(progress, "PERIOD", 0.01)
    monkeypatch.setattr(screen, "_quiet", True)
    for stream in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stream)
        with fit_progress() as callback, busy("reading"):
            callback(iterations()[0])
            threading.Event().wait(0.05)
        assert stream.getvalue() == ""


def test_a_terminal_sees_the_stage_and_how_far_it_is(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with fit_progress() as callback:
        for iteration in iterations():
            callback(iteration)
    assert "learning real factors" in sys.stderr.getvalue()
    assert "3/3" in sys.stderr.getvalue()


def test_a_title_stands_instead_of_the_stages(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with fit_progress("bias only") as callback:
        callback(iterations()[0])
    assert "bias only" in sys.stderr.getvalue()
    assert "learning real factors" not in sys.stderr.getvalue()


def test_what_is_going_on_is_said_to_a_terminal_alone(monkeypatch):
    for stream, shown in ((io.StringIO(), False), (Terminal(), True)):
        monkeypatch.setattr(sys, "stderr", stream)
        with busy("reading ratings.csv"):
            pass
        assert ("reading ratings.csv" in stream.getvalue()) == shown


def test_an_unknown_stage_has_its_own_name(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", Terminal())
    with fit_progress() as callback:
        callback(Iteration("rotation", 1, 3, 1.0, 1.0))
    assert "rotation" in sys.stderr.getvalue()


def test_the_peak_is_at_least_what_a_large_array_takes():
    held = bytearray(300_000_000)
    held[::4096] = b"x" * len(held[::4096])
    assert peak_megabytes() > 300
