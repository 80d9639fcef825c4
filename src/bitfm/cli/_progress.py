"""A bar on standard error while a model is fitted, if that is a terminal, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bitfm.models import Iteration

__all__ = ["busy", "fit_progress", "stage_title"]

_TITLES = {
    "trial": "trying settings on a part",
    "teacher": "learning real factors",
    "relaxed": "learning real factors",
    "distillation": "learning bits",
    "codes": "learning bits",
    "weights": "learning weights",
    "als": "learning real factors",
    "gibbs": "learning real factors",
}


def stage_title(stage: str) -> str:
    """Return what a stage of a fit does, in words."""
    return _TITLES.get(stage.removesuffix("-als"), stage)


def busy(title: str) -> AbstractContextManager[Any]:
    """Say what is going on where nothing tells how far it is."""
    from rich.console import Console

    return Console(stderr=True, quiet=not sys.stderr.isatty()).status(title)


@contextlib.contextmanager
def fit_progress(title: str = "") -> Iterator[Callable[[Iteration], None]]:
    """Give a callback for a fit; the bar begins anew with every stage. Without a title, the stages are named."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<26}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    hidden = not sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden) as progress:
        task = progress.add_task(title or "reading columns", total=None)

        def show(iteration: Iteration) -> None:
            described = title or stage_title(iteration.stage)
            progress.update(task, description=described, total=iteration.total, completed=iteration.number)

        yield show
