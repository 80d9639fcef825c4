"""CiteULike-t with the words and tags of its papers: papers that are known, and papers without any event."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm import Block, Blocks, ImplicitFM
from bitfm.core import multiply
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.events import Events, hold_out
from bitfm.models.implicit.fit import EventFit
from bitfm.models.progress import Progress
from bitfm.validation import thread_count

from bitfm_research.bench.events.protocol import Scorer, Split, judge
from bitfm_research.bench.measure import Row
from bitfm_research.bench.readers import paper_content, paper_likes

__all__ = ["cold_papers", "known_papers"]

_COLD = 0.2
_OURS = [(64, 0), (128, 0), (128, 8), (256, 0), (256, 8)]
_LEAST = -1e30  # the score of what is not to be found


def known_papers(folder: Path, seeds: Iterable[int], wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Rank papers that are new to a reader, a fifth of whose likes are held out."""
    events, content = _data(folder)
    for seed in seeds:
        split = Split(*hold_out(events, 0.2, np.random.default_rng(seed)), seed)
        yield from _rows(split, content, None, wanted)


def cold_papers(folder: Path, seeds: Iterable[int], wanted: Callable[[str], bool]) -> Iterator[Row]:
    """Rank the papers of a fifth all of whose events are held out: they are known by words and tags alone."""
    events, content = _data(folder)
    matrix = events.by_user.to_csr()
    for seed in seeds:
        cold = np.random.default_rng(seed).random(matrix.shape[1]) < _COLD
        parts = [Events.of(sp.csr_matrix(matrix @ sp.diags(kept.astype(np.float32)))) for kept in (~cold, cold)]
        yield from _rows(Split(parts[0], parts[1], seed), content, cold, wanted)


def _data(folder: Path) -> tuple[Events, dict[str, sp.csr_matrix]]:
    likes = paper_likes(folder)
    used, items = np.unique(likes["item_id"].to_numpy(), return_inverse=True)
    users = np.unique(likes["user_id"].to_numpy(), return_inverse=True)[1]
    matrix = sp.csr_matrix((np.ones(len(users), np.float32), (users, items)))
    matrix.data[:] = 1
    return Events.of(matrix), {name: table[used] for name, table in paper_content(folder).items()}


def _rows(
    split: Split,
    content: dict[str, sp.csr_matrix],
    cold: npt.NDArray[np.bool_] | None,
    wanted: Callable[[str], bool],
) -> Iterator[Row]:
    for fields in ({}, content) if cold is None else (content,):
        told = " with words and tags" if fields else ""
        blocks = _blocks(split.train, fields)
        if wanted(name := f"real factors{told}"):
            yield {"method": name, **_real(split, blocks, cold), "seed": split.seed}
        for bits, n_neighbors in _OURS if fields else ():
            name = f"bitfm, {bits} bits" + (f" + {n_neighbors}" if n_neighbors else "") + told
            if wanted(name):
                yield {"method": name, **_ours(split, blocks, bits, n_neighbors, cold), "seed": split.seed}


def _blocks(train: Events, fields: dict[str, sp.csr_matrix]) -> Blocks:
    indptr, items, _ = train.by_user.arrays()
    n_users, n_items = train.shape
    users = np.repeat(np.arange(n_users), np.diff(indptr))
    ids = {"id": sp.identity(n_items, format="csr")}
    return Blocks(user=Block(users, {"id": sp.identity(n_users, format="csr")}), item=Block(items, {**fields, **ids}))


def _real(split: Split, blocks: Blocks, cold: npt.NDArray[np.bool_] | None) -> dict[str, Any]:
    begin, threads = time.perf_counter(), thread_count(-1)
    fit = EventFit(EventData.of(blocks), 0, 0, 128, 8, split.seed, threads)
    settings = choose_settings(fit, Progress(0, None))
    teacher = fit.teacher(settings)
    seconds = time.perf_counter() - begin
    scorer = _among(cold, lambda which: multiply(teacher.users[which], teacher.items.T, threads))
    return {**judge(split, scorer), "bytes per item": 512, "seconds": seconds, "setting": str(tuple(settings))}


def _ours(
    split: Split, blocks: Blocks, bits: int, n_neighbors: int, cold: npt.NDArray[np.bool_] | None
) -> dict[str, Any]:
    begin, threads = time.perf_counter(), thread_count(-1)
    model = ImplicitFM(bits, n_neighbors=n_neighbors, random_state=split.seed).fit(blocks)
    seconds, parameters = time.perf_counter() - begin, model.parameters_
    items = parameters.items.vectors(n_threads=threads)

    def scores(which: npt.NDArray[np.intp]) -> npt.NDArray[np.float32]:
        histories = split.train.by_user.take(which)
        users = parameters.fold_in(histories, n_threads=threads)
        by_vectors = np.float32(parameters.neighbors.scale) * multiply(users, items.T, threads)
        return np.asarray(by_vectors + parameters.neighbors.sums(histories).toarray(), np.float32)

    size = bits / 8 + 2 + (1 + 3 * parameters.neighbors.n_entries / len(items) if n_neighbors else 0)
    about = {"bytes per item": size, "seconds": seconds, "setting": str(tuple(model.settings_))}
    return {**judge(split, _among(cold, scores)), **about}


def _among(items: npt.NDArray[np.bool_] | None, scorer: Scorer) -> Scorer:
    """Return a scorer that finds some of the items only."""
    if items is None:
        return scorer
    return lambda which: np.where(items, scorer(which), np.float32(_LEAST))
