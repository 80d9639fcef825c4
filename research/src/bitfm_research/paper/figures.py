"""The paper's figures, from what was measured. They need matplotlib; nothing else here does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bitfm.plotting import LINES, STYLE, available, grid_of_panels, save

from bitfm_research.paper._small_figures import draw_settings, draw_times
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, FEATURES, FROM_DUMPS, WITH_FEATURES, WITH_IDS
from bitfm_research.paper.results import Measure
from bitfm_research.plotting import TITLES, legend_below

__all__ = ["CURVES", "draw_curves", "write_figures"]

_GREY = {"markersize": 3, "linewidth": 0.8, "markerfacecolor": "white", "markeredgewidth": 0.7, "zorder": 1.5}
_PART = LINES["DFM, paper"] | {"marker": "", "linewidth": 1.1}
# The paper's own methods and the bias in colour, the real-valued FMs as lines, all the others thin and grey.
CURVES: dict[str, dict[str, Any]] = {
    "DFM, distilled": LINES["DFM, distilled"] | {"markersize": 4},
    "DFM, paper": LINES["DFM, paper"] | {"markersize": 3.8, "linewidth": 1.6},
    "DFM, linear part alone": _PART | {"linestyle": (0, (1, 1)), "zorder": 3.2},
    "DFM, codes alone": _PART | {"linestyle": (0, (5, 2))},
    "DFM, without linear terms": _PART | {"linestyle": (0, (5, 1.5, 1, 1.5))},
    "FM, SGD": LINES["FM, SGD"] | {"marker": "X", "markersize": 4.2, "linewidth": 1.4, "zorder": 2.9},
    "DCMF": {"color": "#009E73", "marker": "^", "markersize": 4.2, "linewidth": 1.3, "zorder": 2.8},
    "DCMF, logit": {"color": "#009E73", "marker": "^", "linestyle": (0, (2, 1)), **_GREY},
    "DCF": {"color": "#56B4E9", "marker": "D", "markersize": 3.4, "linewidth": 1.3, "zorder": 2.7},
    "BCCF": {"color": "#E69F00", "marker": "v", "markersize": 4.2, "linewidth": 1.3, "zorder": 2.6},
    "bias only": {"color": "#000000", "linestyle": (0, (1, 1.2)), "linewidth": 1.8, "zorder": 3.5},
    "FM, Gibbs": {"color": "#222222", "linestyle": "-", "linewidth": 0.9, "zorder": 2.4},
    "FM, ALS": {"color": "#555555", "linestyle": (0, (6, 2)), "linewidth": 0.9, "zorder": 2.3},
    "FM + ITQ": {"color": "#707070", "marker": "s", **_GREY},
    "sign rounding": {"color": "#707070", "marker": "o", "linestyle": (0, (4, 1)), **_GREY},
    "PPH": {"color": "#707070", "marker": "D", "linestyle": (0, (2, 1)), **_GREY},
    "CH": {"color": "#A0A0A0", "marker": "^", **_GREY},
    "random projection": {"color": "#A0A0A0", "marker": "v", "linestyle": (0, (4, 1)), **_GREY},
    "LSH": {"color": "#A0A0A0", "marker": "o", "linestyle": (0, (1, 1)), **_GREY},
    "popularity": {"color": "#909090", "linestyle": (0, (6, 1.5, 1, 1.5)), "linewidth": 0.9},
    "random": {"color": "#B0B0B0", "linestyle": (0, (1, 2.5)), "linewidth": 1.1},
}
_PALE = "thin and pale: without features of items"
_IDS_ONLY: dict[str, Any] = {"marker": "", "linewidth": 0.9, "alpha": 0.55, "zorder": 2.2}


def write_figures(measures: Iterable[Measure], folder: Path) -> list[str]:
    """Write every figure that has rows, each as PNG and SVG, and return their names; none without matplotlib."""
    if not available():
        return []
    means = Means(measures)
    figures = {
        "figure-1": draw_curves(means, WITH_IDS),
        "figure-1-features": draw_curves(means, WITH_FEATURES),
        "figure-1-words": draw_curves(means, FROM_DUMPS),
        "figure-2": draw_settings(means),
        "table-1": draw_times(means),
    }
    drawn = {name: figure for name, figure in figures.items() if figure is not None}
    for name, figure in drawn.items():
        folder.mkdir(parents=True, exist_ok=True)
        save(figure, folder / name)
    return list(drawn)


def draw_curves(means: Means, datasets: Sequence[str]) -> Any:
    """Draw NDCG@K against K: a row per data set, a panel per code length, a line per method. None if there is nothing.

    A method that was given features has its own line, and a thin pale one in the same colour with ids only.
    """
    runs = {name: means.runs(name) for name in datasets}
    lengths = [bits for bits in BITS if any((m, bits) in run for m in CURVES for run in runs.values())]
    shown = [name for name in datasets if any(method in CURVES for method, _ in runs[name])]
    if not shown or not lengths:
        return None
    import matplotlib
    from matplotlib.lines import Line2D

    with matplotlib.rc_context(STYLE):
        columns = len(lengths)
        width = max(2.75, 6.5 / columns)  # the legend needs its place even if there are few panels
        figure, panels = grid_of_panels(len(shown) * columns, columns=columns, width=width, height=2.5, sharey="row")
        lines: dict[str, Any] = {}
        for place, axes in enumerate(panels):
            dataset, bits = shown[place // columns], lengths[place % columns]
            lines |= _panel(axes, means, dataset, bits)
            axes.set_title(f"{TITLES.get(dataset, dataset)}, {bits} bits")
            axes.set_xticks(range(1, 11))
            axes.set_xlim(0.6, 10.4)
            if place % columns == 0:
                axes.set_ylabel("NDCG@K")
            if place // columns == len(shown) - 1:
                axes.set_xlabel("K")
        legend = {name: lines[name] for name in CURVES if name in lines}
        if _PALE in lines:
            legend[_PALE] = Line2D([], [], color="#444444", **_IDS_ONLY)
        legend_below(figure, legend, 6 if columns == len(BITS) else 3)
    return figure


def _panel(axes: Any, means: Means, dataset: str, bits: int) -> dict[str, Any]:
    """Draw the lines of a panel and return one per method, for the legend."""
    drawn = {}
    for method, style in CURVES.items():
        plain, rich = (
            means.curve(dataset, name, bits) or means.curve(dataset, name, None) for name in (method, method + FEATURES)
        )
        if rich:
            (drawn[method],) = axes.plot(list(rich), list(rich.values()), **style)
        if plain and rich:
            (drawn[_PALE],) = axes.plot(list(plain), list(plain.values()), **(style | _IDS_ONLY))
        elif plain:
            (drawn[method],) = axes.plot(list(plain), list(plain.values()), **style)
    return drawn
