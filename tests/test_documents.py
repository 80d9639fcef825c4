"""The code in the documents runs as shown."""

from __future__ import annotations

import pytest

import bitfm.data
import bitfm.evaluation
import bitfm.models
from documents import need_documented, run_page

PAGES = [
    "README.md",
    "docs/index.md",
    "docs/quickstart.md",
    "docs/recommender.md",
    "docs/data.md",
    "docs/models.md",
    "docs/retrieval.md",
    "docs/evaluation.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_every_public_name_is_documented_and_exported():
    need_documented("docs/api.md", bitfm, bitfm.data, bitfm.evaluation, bitfm.models)
