"""The style of all pictures, and how they are saved. They need matplotlib; nothing else here does."""

from __future__ import annotations

import importlib.util
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bitfm.atomic import atomic_write
from bitfm.errors import BitfmError

__all__ = ["COLORS", "ENDINGS", "LINES", "MISSING", "STYLE", "available", "grid_of_panels", "save", "save_as"]

MISSING = "matplotlib is not installed: pip install 'bitfm[plots]'"
# Colours that the colour-blind can tell apart (Okabe and Ito), and a line or a marker of its own for each.
COLORS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
LINES: dict[str, dict[str, Any]] = {
    "DFM, distilled": {"color": "#D55E00", "marker": "o", "markersize": 5, "linewidth": 1.8, "zorder": 4},
    "DFM, paper": {"color": "#0072B2", "marker": "s", "markersize": 4.5, "linewidth": 1.4, "zorder": 3},
    "FM, Gibbs": {"color": "#222222", "linestyle": "-", "linewidth": 1.1},
    "FM, ALS": {"color": "#009E73", "linestyle": (0, (5, 2)), "linewidth": 1.2},
    "FM, SGD": {"color": "#CC79A7", "linestyle": (0, (4, 1.5, 1, 1.5)), "linewidth": 1.2},
    "bias only": {"color": "#888888", "linestyle": (0, (1, 1.5)), "linewidth": 1.4},
}
STYLE: dict[Any, Any] = {
    "font.family": "STIXGeneral",  # comes with matplotlib
    "mathtext.fontset": "stix",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.6,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.minor.visible": False,
    "legend.frameon": False,
    "legend.handlelength": 2.6,
    "svg.hashsalt": "bitfm",  # the same numbers give the same file
    "figure.dpi": 100,
}


def available() -> bool:
    """Whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


ENDINGS: dict[str, dict[str, Any]] = {".png": {"Software": None}, ".svg": {"Date": None, "Creator": None}}


def save(figure: Any, base: Path) -> None:
    """Write the figure as ``base.png`` and ``base.svg``."""
    for ending in ENDINGS:
        _write(figure, base.with_suffix(ending))


def save_as(path: str | os.PathLike[str], draw: Callable[[], Any]) -> None:
    """Draw a figure into one file, in the format of its ending."""
    file = Path(path)
    if file.suffix.lower() not in ENDINGS:
        raise ValueError(f"{file} is no name of a picture; give one that ends in {' or '.join(ENDINGS)}.")
    if not available():
        raise BitfmError(MISSING)
    import matplotlib

    with matplotlib.rc_context(STYLE):
        _write(draw(), file)


def _write(figure: Any, file: Path) -> None:
    import matplotlib

    memory, ending = io.BytesIO(), file.suffix.lower()
    with matplotlib.rc_context(STYLE):
        figure.savefig(memory, format=ending[1:], dpi=200, metadata=ENDINGS[ending])
    with atomic_write(file) as out:
        out.write(memory.getvalue())


def grid_of_panels(
    n: int, *, columns: int = 3, width: float = 2.75, height: float = 2.45, **options: Any
) -> tuple[Any, list[Any]]:
    """Return a figure and its panels, row by row."""
    from matplotlib.figure import Figure

    columns = min(columns, n)
    rows = -(-n // columns)
    figure: Any = Figure(figsize=(columns * width, rows * height), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.07, h_pad=0.07)
    cells = list(figure.subplots(rows, columns, squeeze=False, **options).flat)
    for empty in cells[n:]:
        empty.set_axis_off()
    return figure, cells[:n]
