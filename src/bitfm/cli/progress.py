"""How far a command is: a bar on a terminal, and a line every few seconds where standard error is piped."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

from bitfm.cli.screen import is_quiet, note, plain

if TYPE_CHECKING:
    from bitfm.models import Iteration

__all__ = ["busy", "fit_progress"]

PERIOD = 5.0  # seconds between lines


@contextlib.contextmanager
def busy(title: str) -> Iterator[None]:
    """Say what is going on where nothing tells how far it is."""
    if _is_terminal():
        with Console(stderr=True).status(escape(plain(title))):
            yield
        return
    with _lines(lambda: title):
        yield


@contextlib.contextmanager
def fit_progress(title: str = "") -> Iterator[Callable[[Iteration], None]]:
    """Give a callback for a fit; the bar begins anew with every stage. Without a title, the stages are named."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description:<26}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    said = title or "reading columns"
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not _is_terminal()) as progress:
        task = progress.add_task(said, total=None)

        def show(iteration: Iteration) -> None:
            nonlocal said
            said = f"{title}: {iteration.activity}" if title else iteration.activity
            said += f", {iteration.number} of {iteration.total}"
            progress.update(
                task, description=title or iteration.activity, total=iteration.total, completed=iteration.number
            )

        with contextlib.nullcontext() if _is_terminal() else _lines(lambda: said):
            yield show


def _is_terminal() -> bool:
    return sys.stderr.isatty() and not is_quiet()


@contextlib.contextmanager
def _lines(said: Callable[[], str]) -> Iterator[None]:
    """Print what is going on every few seconds, from a thread of its own, since what goes on may not call back."""
    begin, done = time.monotonic(), threading.Event()

    def tell() -> None:
        while not done.wait(PERIOD):
            note(f"{said()}, {time.monotonic() - begin:.0f} s")

    thread = threading.Thread(target=tell, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
