"""A picture of evaluations: one panel per measure, and in it each model with its interval over users."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bitfm.plotting import COLORS, grid_of_panels

if TYPE_CHECKING:
    from bitfm.recommender._evaluation import Evaluation

__all__ = ["figure_of"]


def figure_of(evaluations: Mapping[str, Evaluation]) -> Any:
    """Return a figure of evaluations by name, which must be of the same k."""
    if len({one.k for one in evaluations.values()}) > 1:
        raise ValueError("plot: the evaluations look at different numbers of items; evaluate all with the same k=.")
    values = {name: one.rows() for name, one in evaluations.items()}
    intervals = {name: one.intervals() for name, one in evaluations.items()}
    measures = list(dict.fromkeys(measure for rows in values.values() for measure in rows))
    figure, panels = grid_of_panels(len(measures), height=0.9 + 0.28 * len(evaluations))
    for panel, measure in zip(panels, measures, strict=True):
        for place, (name, rows) in enumerate(values.items()):
            if measure in rows:
                low, high = intervals[name].get(measure, (rows[measure],) * 2)
                panel.plot([low, high], [place, place], color=COLORS[place % len(COLORS)], linewidth=2)
                panel.plot(rows[measure], place, "o", color=COLORS[place % len(COLORS)], markersize=5)
        panel.set_title(measure)
        panel.set_yticks(range(len(values)), values)
        panel.set_ylim(len(values) - 0.5, -0.5)  # the first on top
        panel.margins(x=0.15)
    return figure
