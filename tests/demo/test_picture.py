"""The demo's picture."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm.demo.comparison import Result
from bitfm.demo.picture import _apart, book_map, draw


def test_books_of_a_genre_are_near_each_other_on_the_map(small_shop, fitted):
    places = book_map(fitted, small_shop)
    genres = small_shop.books["genre"].to_numpy()
    assert places.shape == (120, 2)
    within = [np.var(places[genres == genre], axis=0).sum() * (genres == genre).sum() for genre in np.unique(genres)]
    assert sum(within) / len(places) < 0.7 * np.var(places, axis=0).sum()


def test_the_picture_names_the_models(small_shop, fitted, tmp_path):
    pytest.importorskip("matplotlib")
    results = [
        Result("bias only", "bias only", 0.8, 1.0, 40.0, 1e5),
        Result("codes of 64 bits", "DFM, anchored", 0.85, 0.9, 120.0, 1e5),
    ]
    draw(results, book_map(fitted, small_shop), small_shop.books["genre"].to_list(), tmp_path / "picture")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    drawing = (tmp_path / "picture.svg").read_text()
    assert all(f"<!-- {result.name} -->" in drawing for result in results)


def test_no_label_covers_another():
    crowded = np.random.default_rng(0).random((12, 2)) * 0.3
    moved = _apart(crowded, np.ones(2))
    assert (moved[:, 0] == crowded[:, 0]).all()
    for one in range(12):
        for other in range(one):
            across, down = abs(moved[one] - moved[other])
            assert across >= 0.2 or down >= 0.045 - 1e-9
    assert (_apart(crowded[:1], np.ones(2)) == crowded[:1]).all()
