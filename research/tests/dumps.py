"""Generated dumps of reviews in the form that Yelp and Amazon publish, at a hundredth of the size of the paper's."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

N_WORDS, N_TOPICS = 9000, 12
WORDS_PER_REVIEW = 6


class Sizes(NamedTuple):
    """Of a dump, and of what is left of it with 20 ratings per user and item."""

    users: int
    items: int
    reviews: int
    core_users: int
    core_items: int
    core_reviews: int


YELP = Sizes(4_091, 855, 26_850, 137, 129, 6_401)
AMAZON = Sizes(25_890, 9_293, 128_864, 352, 332, 17_321)


def reviews(sizes, seed):
    """Yield (user, item, stars, time, text): readers with many reviews of common items, and many who have few."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(N_TOPICS, size=sizes.items)
    quality, kindness = rng.normal(0, 0.5, sizes.items), rng.normal(0, 0.4, sizes.users)
    taste = rng.normal(0, 0.7, (sizes.users, N_TOPICS))
    words = np.array([f"w{number:x}rd" for number in range(N_WORDS)])
    core = _distinct_pairs(rng, sizes.core_users, sizes.core_items, sizes.core_reviews)
    rest = sizes.reviews - len(core)
    tail = np.column_stack([
        sizes.core_users + np.arange(rest) % (sizes.users - sizes.core_users),
        np.where(np.arange(rest) < sizes.items, np.arange(rest) % sizes.items, rng.integers(sizes.items, size=rest)),
    ])  # fmt: skip
    pairs = rng.permutation(np.concatenate([core, tail]))
    user, item = pairs.T
    scores = 3.7 + kindness[user] + quality[item] + taste[user, topic[item]] + rng.normal(0, 0.4, len(pairs))
    about = words[(rng.zipf(1.3, (len(pairs), WORDS_PER_REVIEW)) * N_TOPICS + topic[item, None]) % N_WORDS]
    times = rng.integers(1_000_000_000, 1_400_000_000, len(pairs))
    stars = np.clip(np.round(scores), 1, 5).astype(int)
    for u, i, rating, time, said in zip(*(x.tolist() for x in (user, item, stars, times, about)), strict=True):
        yield f"u{u}", f"i{i}", rating, time, " ".join(["the", *said, "good" if rating > 3 else "bad"])


def _distinct_pairs(rng, n_users, n_items, n):
    """Pairs of which every user and every item has about as many, each pair once."""
    chosen = np.argsort(rng.random((n_users, n_items)), axis=1)[:, : -(-n // n_users)]
    pairs = np.column_stack([np.repeat(np.arange(n_users), chosen.shape[1]), chosen.ravel()])
    return np.delete(pairs, np.arange(len(pairs) - n) * chosen.shape[1], axis=0)  # one too many of some users


def write_yelp(path, sizes=YELP, seed=0):
    with open(path, "w", encoding="utf-8") as file:
        for number, (user, item, stars, time, text) in enumerate(reviews(sizes, seed)):
            date = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S")
            record = {
                "review_id": f"r{number}", "user_id": user, "business_id": item, "stars": float(stars), "useful": 0,
                "funny": 0, "cool": 0, "text": text, "date": date,
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")


def write_amazon(path, sizes=AMAZON, seed=1):
    with gzip.open(path, "wt", encoding="utf-8", compresslevel=1) as file:
        for user, item, stars, time, text in reviews(sizes, seed):
            record = {
                "reviewerID": user, "asin": item, "reviewerName": "A", "helpful": [0, 0], "reviewText": text,
                "overall": float(stars), "summary": "s", "unixReviewTime": time, "reviewTime": "01 1, 2010",
            }  # fmt: skip
            file.write(json.dumps(record) + "\n")
