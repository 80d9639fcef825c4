"""The style of all pictures, and how they are saved. They need matplotlib; nothing else here does."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import Any

from bitfm.atomic import atomic_write

__all__ = ["LINES", "MISSING", "STYLE", "available", "grid_of_panels", "save"]

MISSING = "matplotlib is not installed: pip install 'bitfm[plots]'"
# Colours that the colour-blind can tell apart (Okabe and Ito), and a line or a marker of its own for each.
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


def save(figure: Any, base: Path) -> None:
    """Write the figure as ``base.png`` and ``base.svg``."""
    import matplotlib

    for ending, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
        memory = io.BytesIO()
        with matplotlib.rc_context(STYLE):
            figure.savefig(memory, format=ending[1:], dpi=200, metadata=metadata)
        with atomic_write(base.with_suffix(ending)) as file:
            file.write(memory.getvalue())


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
