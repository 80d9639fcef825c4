"""Bars on a terminal, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn

__all__ = ["Bars", "Stage"]


class Stage:
    """One bar."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def update(self, done: float) -> None:
        """Say which share is done."""
        self._progress.update(self._task, completed=done)


class Bars:
    """One bar per stage on standard error while it lasts, if that is wanted and it is a terminal."""

    def __init__(self, wanted: bool) -> None:
        self._shown = wanted and sys.stderr.isatty()

    @contextlib.contextmanager
    def stage(self, title: str) -> Iterator[Stage]:
        """Begin a stage."""
        columns = (TextColumn("{task.description:<16}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True, disable=not self._shown) as progress:
            yield Stage(progress, progress.add_task(title, total=1.0))
