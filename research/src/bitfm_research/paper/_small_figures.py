"""Figure 2, what β and L2 do, and Table 1 as a picture."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from bitfm.plotting import LINES, STYLE, grid_of_panels

from bitfm_research.paper.means import Means
from bitfm_research.paper.names import BITS, PAPER_TTC, WITH_IDS
from bitfm_research.plotting import TITLES, legend_below

__all__ = ["draw_settings", "draw_times"]

_FM = LINES["FM, SGD"] | {"marker": "X", "markersize": 5.5, "linewidth": 1.4}
_TIMES: dict[str, dict[str, Any]] = {
    "FM; libFM loop": _FM,
    "FM; float32 pairs": {"color": "#E69F00", "marker": "v", "markersize": 4.5, "linewidth": 1.3},
    "FM; matrix product": {"color": "#009E73", "marker": "^", "markersize": 4.5, "linewidth": 1.3},
    "FM; product and best 10": {"color": "#009E73", "marker": "o", "markersize": 4.5, "linewidth": 1.3},
    "DFM, paper; pairs": LINES["DFM, paper"],
    "DFM, paper; pairs across": LINES["DFM, paper"] | {"marker": "P", "linestyle": (0, (1, 1))},
    "DFM, paper; retrieval": LINES["DFM, paper"] | {"markerfacecolor": "white", "linestyle": (0, (3, 1))},
}
_THEIRS: dict[str, dict[str, Any]] = {
    "libFM": {"color": "#909090", "marker": "X", "markersize": 4, "linestyle": (0, (1, 1.5)), "linewidth": 1},
    "DFM": {"color": "#909090", "marker": "s", "markersize": 3.5, "linestyle": (0, (1, 1.5)), "linewidth": 1},
}


def draw_settings(means: Means) -> Any:
    """Draw NDCG@10 at 64 bits against β for DFM and L2 for FM, a panel per data set. None if there is nothing."""
    found = {
        name: (means.settings(name, "DFM, paper", "beta", 64), means.settings(name, "FM, SGD", "l2", 64))
        for name in WITH_IDS
    }
    shown = [name for name in WITH_IDS if any(found[name])]
    if not shown:
        return None
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure, panels = grid_of_panels(len(shown), width=3.4, height=2.5)
        lines: dict[str, Any] = {}
        for axes, dataset in zip(panels, shown, strict=True):
            values = sorted({x for curve in found[dataset] for x in curve if x > 0})
            zero = math.log10(values[0]) - 1.4 if values else 0.0
            styles = {"DFM, paper, against β": LINES["DFM, paper"], "FM, SGD, against L2": _FM}
            for (label, style), curve in zip(styles.items(), found[dataset], strict=True):
                if curve:
                    lines[label] = _broken_line(axes, curve, zero, style)
            bias = means.ndcg(dataset, "bias only", None, 10)
            if bias is not None:
                style = {"color": "#000000", "linestyle": (0, (1, 1.2)), "linewidth": 1.6}
                lines["bias only"] = axes.axhline(bias, **style)
            _broken_axis(axes, values, zero)
            axes.set_title(TITLES[dataset])
            axes.set_xlabel("β, L2")
        panels[0].set_ylabel("NDCG@10, 64 bits")
        legend_below(figure, lines, 3 if len(shown) > 1 else 1)
    return figure


def _broken_line(axes: Any, curve: Mapping[float, float], zero: float, style: Mapping[str, Any]) -> Any:
    above = {math.log10(x): y for x, y in curve.items() if x > 0}
    (line,) = axes.plot(list(above), list(above.values()), **style)
    if 0 in curve:  # joined by dots: the distance to zero means nothing on such an axis
        first = min(above, default=zero)
        ends = [zero, first], [curve[0], above.get(first, curve[0])]
        axes.plot(*ends, color=style["color"], linestyle=(0, (1, 2)), linewidth=1)
        axes.plot([zero], [curve[0]], **{**style, "linestyle": "none"})
    return line


def _broken_axis(axes: Any, values: list[float], zero: float) -> None:
    places = [math.log10(x) for x in values]
    axes.set_xticks([zero, *places], ["0", *(f"$10^{{{round(place)}}}$" for place in places)])
    axes.set_xlim(zero - 0.4, max(places, default=zero) + 0.4)
    if places:  # two strokes across the axis
        middle = (zero + places[0]) / 2
        for shift in (-0.09, 0.09):
            axes.plot(
                [middle + shift], [0], marker=[(-0.5, -1), (0.5, 1)], markersize=9, color="#222222", linestyle="none",
                transform=axes.get_xaxis_transform(), clip_on=False, zorder=10,
            )  # fmt: skip


def draw_times(means: Means) -> Any:
    """Draw the seconds for all pairs against bits, a panel per data set and what is known of an item. None if empty."""
    shown = [
        (dataset, what)
        for what in ("ids and words", "ids")
        for dataset in WITH_IDS
        if any(_times(means, dataset, method, what) for method in _TIMES)
    ]
    if not shown:
        return None
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure, panels = grid_of_panels(len(shown), columns=2, width=3.6, height=2.4, sharey=True)
        lines: dict[str, Any] = {}
        for axes, (dataset, what) in zip(panels, shown, strict=True):
            for method, style in _TIMES.items():
                if times := _times(means, dataset, method, what):
                    (lines[method],) = axes.plot(list(times), list(times.values()), **style)
            if what == "ids and words" and means.scores_all_pairs(dataset, what):
                for name, minutes in PAPER_TTC[dataset].items():
                    (lines[f"{name}, as published"],) = axes.plot(BITS, [60 * m for m in minutes], **_THEIRS[name])
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.minorticks_off()
            axes.set_xticks(BITS, [str(bits) for bits in BITS])
            axes.set_xlim(BITS[0] / 1.15, BITS[-1] * 1.15)
            axes.set_title(f"{TITLES[dataset]}, {what}")
            axes.set_xlabel("bits or factors")
            axes.tick_params(labelleft=True)
        for axes in panels[::2]:
            axes.set_ylabel("seconds for all pairs")
        order = [name for name in (*_TIMES, *(f"{name}, as published" for name in _THEIRS)) if name in lines]
        legend_below(figure, {name: lines[name] for name in order}, 3 if len(shown) > 1 else 1)
    return figure


def _times(means: Means, dataset: str, method: str, what: str) -> dict[int, float]:
    found = {bits: means.value(dataset, method, bits, f"TTC, {what}") for bits in BITS}
    return {bits: time for bits, time in found.items() if time}
