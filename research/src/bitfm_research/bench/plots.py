"""The benchmarks' pictures. They need matplotlib; nothing else here does."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from bitfm.plotting import LINES, MISSING, STYLE, available, grid_of_panels, save

from bitfm_research.bench.measure import Row
from bitfm_research.plotting import COLUMNS, TITLES

__all__ = ["MISSING", "available", "draw_ablation", "draw_accuracy", "draw_sizes", "save"]

_OURS = LINES["DFM, distilled"]
# By a part of a method's name; the rest of it is a version.
_SEARCHES: dict[str, dict[str, Any]] = {
    "bitfm, exact": _OURS,
    "bitfm, row codes": _OURS | {"markerfacecolor": "white", "linestyle": (0, (3, 1)), "linewidth": 1.4, "zorder": 5},
    "IndexBinaryFlat": {"color": "#56B4E9", "marker": "D", "markersize": 4, "linewidth": 1.2},
    "sgemm": {"color": "#888888", "marker": "v", "markersize": 4.5, "linestyle": (0, (1, 1.5)), "linewidth": 1.4},
    "IndexFlatIP": {"color": "#0072B2", "marker": "s", "markersize": 4.5, "linewidth": 1.4, "zorder": 3},
    "implicit": {"color": "#009E73", "marker": "^", "markersize": 4.5, "linestyle": (0, (5, 2)), "linewidth": 1.2},
}


def draw_accuracy(rows: Sequence[Row]) -> Any:
    """Draw NDCG@10 against bits: a panel per data set, a line per kind of codes, and a level per baseline."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        n = len({row["dataset"] for row in rows})
        figure, (*panels, corner) = grid_of_panels(n + 1)
        corner.set_axis_off()  # its place is the legend's
        for axes, dataset in zip(panels, dict.fromkeys(row["dataset"] for row in rows), strict=True):
            _accuracy_panel(axes, [row for row in rows if row["dataset"] == dataset])
            axes.set_title(TITLES.get(dataset, dataset))
        for axes in panels[::COLUMNS]:
            axes.set_ylabel("NDCG@10")
        handles, labels = panels[0].get_legend_handles_labels()
        order = sorted(range(len(labels)), key=lambda i: list(LINES).index(labels[i]))
        corner.legend([handles[i] for i in order], [labels[i] for i in order], loc="center left", labelspacing=0.7)
    return figure


def _accuracy_panel(axes: Any, rows: Sequence[Row]) -> None:
    for method, style in LINES.items():
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
    axes.set_xlabel("bits per feature")
    axes.margins(y=0.1)


def draw_ablation(rows: Sequence[Row]) -> Any:
    """Draw NDCG@10 of every setting, a panel per ablation, all to one scale; steps of a quantity are joined."""
    import matplotlib

    names = list(dict.fromkeys(row["ablation"] for row in rows))
    with matplotlib.rc_context(STYLE):
        figure, panels = grid_of_panels(len(names), sharey=True)
        for axes, name in zip(panels, names, strict=True):
            mine = [row for row in rows if row["ablation"] == name]
            settings = list(dict.fromkeys(row["setting"] for row in mine))
            means, errors = _mean_and_spread([[r["NDCG@10"] for r in mine if r["setting"] == s] for s in settings])
            style = {**LINES["DFM, distilled"], **({} if mine[0]["quantity"] else {"linestyle": "none"})}
            axes.errorbar(range(len(settings)), means, errors, capsize=2.5, elinewidth=0.9, **style)
            axes.set_xticks(range(len(settings)), settings)
            axes.set_xlim(-0.5, len(settings) - 0.5)
            axes.set_xlabel(mine[0]["quantity"] or "")
            axes.set_title(name)
            axes.tick_params(labelleft=True)
        for axes in panels[::COLUMNS]:
            axes.set_ylabel("NDCG@10")
    return figure


def draw_sizes(rows: Sequence[Row]) -> Any:
    """Draw µs per query against the number of items: one panel per kind of catalogue and query, one line per method."""
    import matplotlib

    names = list(dict.fromkeys(row["what"] for row in rows))
    with matplotlib.rc_context(STYLE):
        figure, panels = grid_of_panels(len(names), columns=2, width=4.1, height=2.7, sharex=True, sharey=True)
        lines: dict[str, Any] = {}
        for axes, name in zip(panels, names, strict=True):
            mine = [row for row in rows if row["what"] == name]
            for method in sorted({row["method"] for row in mine}, key=_search_order):
                points = [(row["items"], row["µs per query"]) for row in mine if row["method"] == method]
                style = list(_SEARCHES.values())[_search_order(method)]
                (lines[method],) = axes.plot(*zip(*sorted(points), strict=True), **style)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.minorticks_off()
            axes.set_title(name)
            axes.tick_params(labelbottom=True, labelleft=True)
        for axes in panels[::2]:
            axes.set_ylabel("µs per query")
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
