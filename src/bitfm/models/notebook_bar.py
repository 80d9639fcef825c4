"""How far a fit is, as a bar in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from importlib import import_module

from bitfm.models.progress import Callback, Iteration

__all__ = ["in_notebook", "notebook_bar"]

_SECONDS_BETWEEN = 0.1  # updates: a page shows no more, and a fit of many short iterations is not slowed down


def in_notebook() -> bool:
    """Whether a kernel runs the code, as in Jupyter, VS Code or Colab; IPython in a terminal has none.

    Examples
    --------
    >>> in_notebook()
    False
    """
    ipython = sys.modules.get("IPython")  # a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@contextmanager
def notebook_bar() -> Iterator[Callback]:
    """Give a callback that shows how far a fit is, a stage at a time; at the end a line says how long it took.

    Examples
    --------
    >>> with notebook_bar() as bar:  # doctest: +SKIP
    ...     model.fit(X, y, callback=bar)
    """
    display = import_module("IPython.display").display
    begin = shown = time.perf_counter()
    handle = display(_view("reading columns", "<progress></progress> "), raw=True, display_id=True)

    def show(iteration: Iteration) -> None:
        nonlocal shown
        if (now := time.perf_counter()) - shown >= _SECONDS_BETWEEN:
            shown = now
            text = f"{iteration.activity}, {iteration.number} of {iteration.total}, {now - begin:.0f} s"
            bar = f'<progress value="{iteration.number}" max="{iteration.total}"></progress> '
            handle.update(_view(text, bar), raw=True)

    ended = "Stopped after"
    try:
        yield show
        ended = "Fitted in"
    finally:
        handle.update(_view(f"{ended} {time.perf_counter() - begin:.1f} s"), raw=True)


def _view(text: str, bar: str = "") -> dict[str, str]:
    """Return what a notebook shows, and what it keeps for readers of plain text."""
    return {"text/plain": text, "text/html": f"<label>{bar}{escape(text)}</label>"}
