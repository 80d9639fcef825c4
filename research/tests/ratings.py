"""Small generated ratings in the form of the benchmarks' data sets."""

from __future__ import annotations

import numpy as np
from bitfm.data.one_hot import one_hot
from bitfm.evaluation import split_cold, split_per_user

from bitfm_research.bench.datasets import Split
from bitfm_research.bench.readers import Ratings

N_USERS, N_ITEMS = 60, 40


def small_ratings(seed=0, given_split=False):
    """600 ratings of tastes in one genre or another, with the genre and an age that says nothing."""
    rng = np.random.default_rng(seed)
    pairs = rng.permutation(N_USERS * N_ITEMS)[:600]
    pairs[0] = N_USERS * N_ITEMS - 1  # the last user and the last item, so that the sizes are as said
    users, items = (part.astype(np.int32) for part in np.divmod(np.unique(pairs), N_ITEMS))
    genre, taste = np.arange(N_ITEMS) % 3, rng.integers(3, size=N_USERS)
    ratings = np.where(genre[items] == taste[users], 4.0, 2.0) + rng.integers(-1, 2, size=len(users))
    train = split_per_user(users, 0.5, seed) if given_split else None
    fields = {"age": one_hot(rng.integers(4, size=N_USERS))}, {"genres": one_hot(genre)}
    return Ratings(users, items, ratings, *fields, train=train)


def small_split(seed=0, cold_items=None):
    data = small_ratings(seed)
    train = split_cold(data.items, cold_items, seed) if cold_items else split_per_user(data.users, 0.5, seed)
    parts = [(data.users[mask], data.items[mask], data.ratings[mask]) for mask in (train, ~train)]
    return Split("small", N_USERS, N_ITEMS, *parts, data.user_fields, data.item_fields, protocol="as generated")
