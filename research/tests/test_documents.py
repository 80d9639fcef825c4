"""The code in the documents of research runs as shown."""

from __future__ import annotations

import bitfm_research.baselines
import bitfm_research.prepare
from documents import need_documented, run_page


def test_python_blocks_run_in_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page("docs/research.md")


def test_every_public_name_is_documented_and_exported():
    need_documented("docs/research.md", bitfm_research.baselines, bitfm_research.prepare)
