"""What the laboratory's pictures have in common, beside the product's style."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["COLUMNS", "TITLES", "legend_below"]

COLUMNS = 3
TITLES = {
    "ml-100k": "MovieLens 100K",
    "ml-1m": "MovieLens 1M",
    "douban": "Douban",
    "yelp": "Yelp",
    "amazon": "Amazon",
    "citeulike-t": "CiteULike-t",
    "frappe": "Frappe",
    "yelp-words": "Yelp with words",
    "amazon-words": "Amazon with words",
}


def legend_below(figure: Any, lines: Mapping[str, Any], columns: int) -> None:
    """Put a legend, a line by its name, under all panels; the figure grows, the panels keep their size."""
    figure.legend(list(lines.values()), list(lines), loc="outside lower center", ncols=columns, columnspacing=1.6)
    figure.set_figheight(figure.get_figheight() + 0.22 * -(-len(lines) // columns) + 0.15)
