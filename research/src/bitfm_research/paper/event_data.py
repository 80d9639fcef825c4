"""Events with words: papers that readers keep, with their words, and apps that users run, with their descriptions."""

from __future__ import annotations

import tempfile
import zipfile
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from bitfm.data import Words, read_table
from bitfm.data.feature_table import FeatureTable
from bitfm.evaluation import split_per_user

from bitfm_research.bench.datasets import Split
from bitfm_research.bench.readers import app_usage, paper_content, paper_likes

__all__ = ["load_events"]

_TRAIN = 0.8


def load_events(name: str, root: Path) -> Split:
    """Return events as ratings of 1, four fifths of each user's to train on, and the words of the items.

    ``"citeulike-t"`` has the words of papers, ``"frappe"`` those of the descriptions of apps.
    """
    frame = paper_likes(root) if name == "citeulike-t" else app_usage(root)
    pairs = frame.select("user_id", "item_id").unique(maintain_order=True)
    users, items = (np.unique(pairs[column].to_numpy(), return_inverse=True) for column in ("user_id", "item_id"))
    words = paper_content(root)["words"] if name == "citeulike-t" else _descriptions(root)
    train = split_per_user(users[1], _TRAIN, 0)
    every = users[1].astype(np.int32), items[1].astype(np.int32), np.ones(len(train))
    return Split(
        name,
        n_users=len(users[0]),
        n_items=len(items[0]),
        train=(every[0][train], every[1][train], every[2][train]),
        test=(every[0][~train], every[1][~train], every[2][~train]),
        item_fields={"words": FeatureTable.of("words", words[items[0]])},
        protocol="four fifths of each user's events to train, the rest to find among all items that are new",
    )


def _descriptions(root: Path) -> sp.csr_matrix:
    """Return the words of Frappe's descriptions, one row per app."""
    with tempfile.TemporaryDirectory() as unpacked:
        with zipfile.ZipFile(root / "frappe" / "Mobile_Frappe.zip") as archive:
            path = archive.extract("Mobile_Frappe/frappe/meta.csv", unpacked)
        table = read_table(path)
    texts = [""] * (int(table["item"].cast(int).max()) + 1)  # type: ignore[arg-type]
    for item, text in zip(table["item"].cast(int), table["description"], strict=True):
        texts[item] = text or ""
    return Words().fit(texts).transform(texts)
