"""Fits, saves, loads and recommends with the bitfm that is installed; leaves the models in the folder that is named."""

import platform
import sys
from pathlib import Path

import bitfm
from bitfm import core
from bitfm.datasets import make_bookshop

print(f"{Path(bitfm.__file__).parent}: {platform.machine()}, Python {platform.python_version()}, {core.isa()} kernels")
folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
shop = make_bookshop(n_readers=120, n_books=80, n_ratings=2400)
names = {"users": shop.readers, "items": shop.books, "user": "reader", "item": "title"}
for name, target in (("ratings", "rating"), ("events", None)):
    fitted = bitfm.Recommender(bits=64).fit(shop.ratings, **names, target=target)
    fitted.save(folder / f"{name}.bitfm")
    opened = bitfm.load(folder / f"{name}.bitfm")
    best, again = (rec.recommend(shop.readers["reader"][0], n=5) for rec in (fitted, opened))
    assert best.shape[0] == 5, best
    assert best.equals(again), f"saved: {best}\nopened: {again}"
