"""The code in the documents runs as shown, where it needs research or libraries that bitfm is compared with."""

from __future__ import annotations

import pytest

import bitfm_research.baselines
import bitfm_research.prepare
from documents import need_documented, run_page


@pytest.mark.parametrize("page", ["docs/research.md", "docs/coming-from.md"])
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


def test_every_public_name_is_documented_and_exported():
    need_documented("docs/research.md", bitfm_research.baselines, bitfm_research.prepare)
