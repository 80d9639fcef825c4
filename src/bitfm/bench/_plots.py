"""The benchmarks' pictures. They need matplotlib; nothing else here does."""

from __future__ import annotations

import importlib.util
import io
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bitfm._atomic import atomic_write
from bitfm.bench._measure import Row

__all__ = ["MISSING", "available", "draw_ablation", "draw_accuracy", "draw_sizes", "save"]

MISSING = "matplotlib is not installed: pip install 'bitfm[plots]'"

_TITLES = {"ml-100k": "MovieLens 100K", "ml-1m": "MovieLens 1M", "douban": "Douban", "yelp": "Yelp", "amazon": "Amazon"}
# Colours that the colour-blind can tell apart (Okabe and Ito), and a line or a marker of its own for each.
_LINES: dict[str, dict[str, Any]] = {
    "DFM, anchored": {"color": "#D55E00", "marker": "o", "markersize": 5, "linewidth": 1.8, "zorder": 4},
    "DFM, paper": {"color": "#0072B2", "marker": "s", "markersize": 4.5, "linewidth": 1.4, "zorder": 3},
    "FM, Gibbs": {"color": "#222222", "linestyle": "-", "linewidth": 1.1},
    "FM, ALS": {"color": "#009E73", "linestyle": (0, (5, 2)), "linewidth": 1.2},
    "FM, SGD": {"color": "#CC79A7", "linestyle": (0, (4, 1.5, 1, 1.5)), "linewidth": 1.2},
    "bias only": {"color": "#888888", "linestyle": (0, (1, 1.5)), "linewidth": 1.4},
}
_OURS = _LINES["DFM, anchored"]
# By a part of a method's name; the rest of it is a version.
_SEARCHES: dict[str, dict[str, Any]] = {
    "bitfm, exact": _OURS,
    "bitfm, row codes": _OURS | {"markerfacecolor": "white", "linestyle": (0, (3, 1)), "linewidth": 1.4, "zorder": 5},
    "IndexBinaryFlat": {"color": "#56B4E9", "marker": "D", "markersize": 4, "linewidth": 1.2},
    "sgemm": {"color": "#888888", "marker": "v", "markersize": 4.5, "linestyle": (0, (1, 1.5)), "linewidth": 1.4},
    "IndexFlatIP": {"color": "#0072B2", "marker": "s", "markersize": 4.5, "linewidth": 1.4, "zorder": 3},
    "implicit": {"color": "#009E73", "marker": "^", "markersize": 4.5, "linestyle": (0, (5, 2)), "linewidth": 1.2},
}
_STYLE: dict[Any, Any] = {
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


_COLUMNS = 3


def available() -> bool:
    """Whether pictures can be drawn."""
    return importlib.util.find_spec("matplotlib") is not None


def save(figure: Any, base: Path) -> None:
    """Write the figure as ``base.png`` and ``base.svg``."""
    import matplotlib

    for ending, metadata in ((".png", {"Software": None}), (".svg", {"Date": None, "Creator": None})):
        memory = io.BytesIO()
        with matplotlib.rc_context(_STYLE):
            figure.savefig(memory, format=ending[1:], dpi=200, metadata=metadata)
        with atomic_write(base.with_suffix(ending)) as file:
            file.write(memory.getvalue())


def draw_accuracy(rows: Sequence[Row]) -> Any:
    """Draw NDCG@10 against bits: a panel a data set, a line a kind of codes, and a level for each rival."""
    import matplotlib

    with matplotlib.rc_context(_STYLE):
        n = len({row["dataset"] for row in rows})
        figure, (*panels, corner) = _panels(n + 1)
        corner.set_axis_off()  # its place is the legend's
        for axes, dataset in zip(panels, dict.fromkeys(row["dataset"] for row in rows), strict=True):
            _accuracy_panel(axes, [row for row in rows if row["dataset"] == dataset])
            axes.set_title(_TITLES.get(dataset, dataset))
        for axes in panels[::_COLUMNS]:
            axes.set_ylabel("NDCG@10")
        handles, labels = panels[0].get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda i: list(_LINES).index(labels[i]))
        corner.legend([handles[i] for i in order], [labels[i] for i in order], loc="center left", labelspacing=0.7)
    return figure


def _accuracy_panel(axes: Any, rows: Sequence[Row]) -> None:
    for method, style in _LINES.items():
        mine = [row for row in rows if row["method"] == method]
        lengths = sorted({row["bits"] for row in mine if row["bits"]})
        if lengths:
            means, errors = _mean_and_spread([[r["NDCG@10"] for r in mine if r["bits"] == b] for b in lengths])
            axes.errorbar(lengths, means, errors, label=method, capsize=2.5, elinewidth=0.9, **style)
        elif mine:
            axes.axhline(statistics.fmean(row["NDCG@10"] for row in mine), label=method, **style)
    ticks = sorted({row["bits"] for row in rows if row["bits"]})
    axes.set_xscale("log", base=2)
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.set_xlabel("bits a feature")
    axes.margins(y=0.1)


def draw_ablation(rows: Sequence[Row]) -> Any:
    """Draw NDCG@10 of every setting, a panel an ablation, all to one scale; steps of a quantity are joined."""
    import matplotlib

    names = list(dict.fromkeys(row["ablation"] for row in rows))
    with matplotlib.rc_context(_STYLE):
        figure, panels = _panels(len(names), sharey=True)
        for axes, name in zip(panels, names, strict=True):
            mine = [row for row in rows if row["ablation"] == name]
            settings = list(dict.fromkeys(row["setting"] for row in mine))
            means, errors = _mean_and_spread([[r["NDCG@10"] for r in mine if r["setting"] == s] for s in settings])
            style = {**_LINES["DFM, anchored"], **({} if mine[0]["quantity"] else {"linestyle": "none"})}
            axes.errorbar(range(len(settings)), means, errors, capsize=2.5, elinewidth=0.9, **style)
            axes.set_xticks(range(len(settings)), settings)
            axes.set_xlim(-0.5, len(settings) - 0.5)
            axes.set_xlabel(mine[0]["quantity"] or "")
            axes.set_title(name)
            axes.tick_params(labelleft=True)
        for axes in panels[::_COLUMNS]:
            axes.set_ylabel("NDCG@10")
    return figure


def draw_sizes(rows: Sequence[Row]) -> Any:
    """Draw µs a query against the number of items: a panel a kind of catalogue and way to ask, a line a method."""
    import matplotlib

    names = list(dict.fromkeys(row["what"] for row in rows))
    with matplotlib.rc_context(_STYLE):
        figure, panels = _panels(len(names), columns=2, width=4.1, height=2.7, sharex=True, sharey=True)
        lines: dict[str, Any] = {}
        for axes, name in zip(panels, names, strict=True):
            mine = [row for row in rows if row["what"] == name]
            for method in sorted({row["method"] for row in mine}, key=_search_order):
                points = [(row["items"], row["µs a query"]) for row in mine if row["method"] == method]
                style = list(_SEARCHES.values())[_search_order(method)]
                (lines[method],) = axes.plot(*zip(*sorted(points), strict=True), **style)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.minorticks_off()
            axes.set_title(name)
            axes.tick_params(labelbottom=True, labelleft=True)
        for axes in panels[::2]:
            axes.set_ylabel("µs a query")
        for axes in panels[-2:]:
            axes.set_xlabel("items")
        order = sorted(lines, key=_search_order)
        figure.legend([lines[method] for method in order], order, loc="outside lower center", ncols=3)
    return figure


def _search_order(method: str) -> int:
    return next(i for i, part in enumerate(_SEARCHES) if part in method)


def _mean_and_spread(groups: list[list[float]]) -> tuple[list[float], list[float] | None]:
    means = [statistics.fmean(group) for group in groups]
    return means, [statistics.stdev(group) for group in groups] if len(groups[0]) > 1 else None


def _panels(
    n: int, *, columns: int = _COLUMNS, width: float = 2.75, height: float = 2.45, **options: Any
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
