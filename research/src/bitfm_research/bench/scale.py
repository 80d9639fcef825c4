"""The paper's example of a practical system, generated: 1.3 M users, 174,000 businesses, 1.2 M attributes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.models import Iteration
from bitfm.models.discrete import DiscreteFM

from bitfm_research.bench._peak import input_bytes, model_bytes, peak_bytes, reset_peak
from bitfm_research.bench.generated import sparse_rows

__all__ = ["run"]


def run(
    *,
    n_users: int = 1_300_000,
    n_items: int = 174_000,
    n_attributes: int = 1_200_000,
    n_interactions: int = 10_000_000,
    bits: int = 64,
    iterations: int = 2,
    init: str = "relaxed",
    say: Callable[[str], None] = print,
) -> list[dict[str, Any]]:
    """Generate such a system, train the paper's model for a few iterations, and report seconds per sweep and memory."""
    say("generating")
    X, y = _generate(n_users, n_items, n_attributes, n_interactions)
    say(repr(X))
    before = reset_peak()
    done: list[Iteration] = []

    def tell(item: Iteration) -> None:
        done.append(item)
        say(f"{item.stage} {item.number}/{item.total}: {item.seconds:.1f} s, objective {item.objective:.4g}")

    begin = time.perf_counter()
    model = DiscreteFM(bits=bits, init=init, init_iter=iterations, max_iter=iterations, tol=0.0).fit(
        X, y, callback=tell
    )
    seconds = time.perf_counter() - begin
    allowed = 3 * input_bytes(X, y) + model_bytes(model)
    stages = {stage: [i.seconds for i in done if i.stage == stage] for stage in ("relaxed", "codes")}
    facts: dict[str, Any] = {
        "features": X.n_features,
        "interactions": len(X),
        "bits": bits,
        "init": init,
        **{f"seconds per {stage} iteration": min(times) for stage, times in stages.items() if times},
        "seconds in all": seconds,
        "peak MB of the fit": (peak_bytes() - before) / 1e6,
        "3 × input + model with delegate, MB": allowed / 1e6,
    }
    return [{"what": what, "measured": value} for what, value in facts.items()]


def _generate(n_users: int, n_items: int, n_attributes: int, n: int) -> tuple[Blocks, Any]:
    rng = np.random.default_rng(0)
    users = rng.permutation(np.r_[np.arange(n_users), rng.integers(n_users, size=n - n_users)]).astype(np.int32)
    items = np.minimum((n_items * rng.random(n) ** 2).astype(np.int32), n_items - 1)
    per_item = 20
    columns = (n_attributes * rng.random((n_items, per_item)) ** 2).astype(np.int32)
    columns[:, 0] = rng.integers(n_attributes, size=n_items)
    attributes = sparse_rows(columns, 1 / np.sqrt(per_item), n_attributes)
    attributes.sum_duplicates()
    taste_u, taste_i = rng.normal(size=(n_users, 4)), rng.normal(size=(n_items, 4))
    score = 3.5 + 0.4 * np.einsum("ij,ij->i", taste_u[users], taste_i[items]) + rng.normal(0, 0.7, n)
    X = Blocks(
        user=Block(users, {"id": FeatureTable.eye(n_users)}),
        item=Block(items, {"id": FeatureTable.eye(n_items), "attributes": attributes}),
    )
    return X, np.clip(np.rint(score), 1, 5)
