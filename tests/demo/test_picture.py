"""The demo's picture."""

from __future__ import annotations

import numpy as np
import pytest

from bitfm.demo.comparison import Result
from bitfm.demo.picture import book_map, draw


def test_books_of_a_genre_are_near_each_other_on_the_map(small_shop, fitted):
    places = book_map(fitted, small_shop)
    genres = small_shop.books["genre"].to_numpy()
    assert places.shape == (120, 2)
    within = [np.var(places[genres == genre], axis=0).sum() * (genres == genre).sum() for genre in np.unique(genres)]
    assert sum(within) / len(places) < 0.7 * np.var(places, axis=0).sum()


def test_the_picture_names_models_and_genres(small_shop, fitted, tmp_path):
    pytest.importorskip("matplotlib")
    results = [
        Result("bias only", "bias only", 0.8, 1.0, 40.0, 1e5),
        Result("codes of 64 bits", "DFM, distilled", 0.85, 0.9, 120.0, 1e5),
    ]
    draw(results, book_map(fitted, small_shop), small_shop.books["genre"].to_list(), tmp_path / "picture")
    assert (tmp_path / "picture.png").read_bytes().startswith(b"\x89PNG")
    drawing = (tmp_path / "picture.svg").read_text()
    names = [result.name for result in results] + small_shop.books["genre"].to_list()
    assert all(f"<!-- {name} -->" in drawing for name in names)
