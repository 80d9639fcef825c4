"""The picture of the demo: what accuracy costs, and a map of the books."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bitfm import plotting
from bitfm.demo.comparison import Result
from bitfm.demo.shop import ITEM

if TYPE_CHECKING:
    from bitfm.demo.shop import Shop
    from bitfm.recommender import Recommender

__all__ = ["book_map", "draw"]

# Okabe and Ito's colours, each with two markers: enough for twelve genres.
_COLOURS = ("#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7")
_MARKERS = ("o", "^")


def book_map(rec: Recommender, shop: Shop) -> npt.NDArray[np.float64]:
    """Return two coordinates per book of the table: the first two principal directions of the books' vectors."""
    vectors = rec.state.all_rows("item").vectors[rec.state.items.indices_of(shop.books[ITEM].to_list())]
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    return np.asarray(centred @ directions[:2].T, np.float64)


def draw(results: Sequence[Result], places: npt.NDArray[np.float64], genres: Sequence[str], base: Path) -> None:
    """Write the picture as ``base.png`` and ``base.svg``."""
    import matplotlib

    with matplotlib.rc_context(plotting.STYLE):
        figure, (left, right) = plotting.grid_of_panels(2, columns=2, width=5.4, height=4.0)
        _accuracy_by_size(left, results)
        _map_of_books(right, places, np.asarray(genres))
    plotting.save(figure, base)


def _accuracy_by_size(panel: Any, results: Sequence[Result]) -> None:
    sizes = [result.kilobytes for result in results]
    middle = float(np.sqrt(min(sizes) * max(sizes)))
    for result in results:
        style, place = plotting.LINES[result.line], (result.kilobytes, result.ndcg)
        panel.plot(*place, marker=style.get("marker", "D"), color=style["color"], markersize=8)
        side = {"xytext": (-9, 0), "ha": "right"} if result.kilobytes > middle else {"xytext": (9, 0), "ha": "left"}
        panel.annotate(result.name, place, textcoords="offset points", va="center", color=style["color"], **side)
    panel.set(xscale="log", xlim=(min(sizes) / 2, max(sizes) * 2))
    panel.margins(y=0.12)
    panel.set(title="Accuracy against size", xlabel="size of the model, kB", ylabel="NDCG@10")


def _map_of_books(panel: Any, places: npt.NDArray[np.float64], genres: npt.NDArray[Any]) -> None:
    for number, genre in enumerate(np.unique(genres)):
        again, colour = divmod(number, len(_COLOURS))  # neighbours in one round of colours are not so in the next
        look = {"marker": _MARKERS[again % len(_MARKERS)], "color": _COLOURS[(colour + 2 * again) % len(_COLOURS)]}
        dots = {"linestyle": "", "markersize": 4, "alpha": 0.65, "markeredgewidth": 0}
        panel.plot(*places[genres == genre].T, label=genre, **dots, **look)
    panel.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize=9, handletextpad=0.2)
    panel.set(title="The books, by their codes", xticks=[], yticks=[])
    panel.set(xlabel="first principal direction", ylabel="second principal direction")
