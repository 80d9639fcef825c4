"""How near a search comes to merely reading the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from bitfm_research.bench._comparison import OURS, compare_times
from bitfm_research.bench.generated import generated_codes
from bitfm_research.bench.measure import Row

__all__ = ["bandwidth"]

_TOP, _QUERIES = 10, 10
# What a search reads of every chunk where no chunk can be left out.
_READ = ("codes", "live", "chunk_bias", "inverse_most", "inverse_least")


def bandwidth(say: Callable[[str], None], *, n_items: int = 10_000_000) -> Iterator[tuple[str, list[Row]]]:
    """Search random codes without gains and biases, of which every one has to be looked at."""
    say(f"generate {n_items:,} random codes")
    rng = np.random.default_rng(0)
    model = generated_codes(_QUERIES, n_items)
    model.codes_ = rng.integers(256, size=model.codes_.shape, dtype=np.uint8)
    model.gains_, model.weights_ = np.ones_like(model.gains_), np.zeros_like(model.weights_)
    index = model.index()
    arrays = [index.segments[0].arrays[name] for name in _READ]
    size = sum(array.nbytes for array in arrays)
    plain = [array.reshape(-1).view(np.int64 if array.nbytes % 8 == 0 else array.dtype) for array in arrays]
    each = [np.array([user]) for user in range(_QUERIES)]
    rows = compare_times(
        f"{size / 1e6:,.1f} MB, one query after another",
        _QUERIES,
        {
            OURS: lambda: [index.search(user, _TOP, n_jobs=1) for user in each],
            f"a plain read of the same bytes, NumPy {np.__version__} max": lambda: [
                array.max() for _ in each for array in plain
            ],
        },
        rounds=10,
    )
    plain_read = rows[1]["µs per query"]
    yield (
        f"{n_items:,} bare codes, of which every one counts: memory's speed",
        [{**row, "GB/s": size / 1e3 / row["µs per query"], "share": plain_read / row["µs per query"]} for row in rows],
    )
