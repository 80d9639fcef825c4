"""Hashing on events: DCMF by its logit loss, and locality-sensitive hashing of users and of items."""

from __future__ import annotations

from itertools import product

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.core import multiply, unpack_codes
from bitfm.validation import thread_count

from bitfm_research.baselines import DCMF, LSH
from bitfm_research.bench.events.discrete import BITS, event_pairs, id_blocks
from bitfm_research.bench.events.protocol import Scorer, Split

__all__ = ["DCMF_SETTINGS", "LSH_SETTINGS", "logit", "lsh", "lsh_bytes"]

_ITERATIONS = 10  # of each stage: more of them change little
DCMF_SETTINGS = list(product((1.0, 2.0), (3.0, 10.0, 30.0, 100.0), (0.0, 1.0)))  # spread, interaction, alpha = beta
LSH_SETTINGS = list(product((4, 8), ("users", "items")))  # bits of a bucket, whose buckets

Floats = npt.NDArray[np.float32]


def logit(split: Split, setting: tuple[float, float, float]) -> Scorer:
    """Fit DCMF to events, all of them liked, and score by products of codes."""
    spread, interaction, balance = setting
    users, items = event_pairs(split)
    model = DCMF(
        BITS,
        loss="logit",
        spread=spread,
        interaction=interaction,
        alpha=balance,
        beta=balance,
        init_iter=_ITERATIONS,
        max_iter=_ITERATIONS,
        random_state=split.seed,
    ).fit(id_blocks(split, users, items), np.ones(len(users)))
    of_users, of_items = unpack_codes(model.user_codes_), unpack_codes(model.item_codes_)
    return lambda which: multiply(of_users[which], of_items.T, thread_count(-1))


def lsh(split: Split, setting: tuple[int, str]) -> Scorer:
    """Score an item by the events it has among those who share buckets with the user, as Das et al. do.

    Those of a bucket count as a share of all events of the bucket. By items: by how many buckets an item shares with
    those of the user's history.
    """
    bucket_bits, by = setting
    users, items = event_pairs(split)
    model = LSH(BITS, bucket_bits=bucket_bits, random_state=split.seed).fit(
        id_blocks(split, users, items), np.ones(len(users))
    )
    X = split.train.by_user.to_csr().astype(np.float32)
    if by == "items":
        of_items = model.members("items")
        history = (X @ of_items).tocsr()
        return lambda which: np.asarray((history[which] @ of_items.T).toarray(), np.float32)
    of_users = model.members("users")
    events = (of_users.T @ X).tocsr()
    sizes = np.asarray(events.sum(axis=1)).ravel()
    shares = sp.diags(1 / np.maximum(sizes, 1)).astype(np.float32) @ events
    return lambda which: np.asarray((of_users[which] @ shares).toarray(), np.float32)


def lsh_bytes(split: Split) -> float:
    """Return the bytes of an item: its code, and who has it."""
    return BITS / 8 + 4.0 * float(split.train.item_sizes.mean())
