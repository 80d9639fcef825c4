"""The second pass: one document per item, and the words that weigh most."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data.words import Words

from bitfm_research.prepare._progress import Bars, Stage
from bitfm_research.prepare.source import BadLines, Source


def item_words(
    source: Source, item_ids: Sequence[str], max_words: int, bad: BadLines, bars: Bars
) -> tuple[sp.csr_matrix, npt.NDArray[Any]]:
    """Return the words of all that was written about each item, one row per item, and their names."""
    with bars.stage("Reading texts") as stage:
        documents = _documents(source, item_ids, bad, stage)
    words = Words(max_words)
    with bars.stage("Choosing words") as stage:
        try:
            words.fit(_each(documents, stage))
        except ValueError as error:
            if "no word is left" not in str(error):
                raise
            raise ValueError(
                f"{source.path}: the texts of the {len(item_ids):,} items left hold no words but stop words; "
                "leave the texts out"
            ) from None
    with bars.stage("Weighing words") as stage:
        return words.transform(_each(documents, stage)), words.words_


def _documents(source: Source, item_ids: Sequence[str], bad: BadLines, stage: Stage) -> list[bytearray]:
    """Return all texts of each item, one per line; as UTF-8, which is smaller than strings and grows in place."""
    documents = [bytearray() for _ in item_ids]
    by_id = dict(zip(item_ids, documents, strict=True))
    for batch in source.texts(bad):
        for item, text in zip(batch.items, batch.texts, strict=True):
            if text and (document := by_id.get(item)) is not None:
                document += text.encode(errors="replace") + b"\n"
        stage.update(batch.done)
    return documents


def _each(documents: Sequence[bytearray], stage: Stage) -> Iterator[str]:
    for place, document in enumerate(documents):
        yield document.decode()
        if place % 64 == 0:
            stage.update(place / len(documents))
