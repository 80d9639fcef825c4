"""The code in the documents runs as shown."""

from __future__ import annotations

import json

import matplotlib.pyplot
import pytest

import bitfm.core
import bitfm.data
import bitfm.datasets
import bitfm.evaluation
import bitfm.models
import bitfm.parameters
import bitfm.persist
import bitfm.retrieval
import bitfm.testing
import bitfm.validation
from documents import ROOT, broken_links, need_documented, run_page

PAGES = [
    pytest.param("README.md", marks=pytest.mark.true_teacher),
    "docs/index.md",
    "docs/quickstart.md",
    "docs/recommender.md",
    "docs/filters.md",
    "docs/ranking.md",
    "docs/data.md",
    "docs/models.md",
    "docs/retrieval.md",
    "docs/evaluation.md",
    "docs/production.md",
]
LINKING = ["*.md", "docs/*.md", "research/*.md", "examples/*/*.md", "examples/*.ipynb"]
NOTEBOOKS = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("examples/*.ipynb"))


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page(page)


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_notebooks_run_and_are_kept_without_outputs(notebook, tmp_path, monkeypatch):
    cells = json.loads((ROOT / notebook).read_text())["cells"]
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in cells)
    monkeypatch.chdir(tmp_path)
    with matplotlib.rc_context():
        run_page(notebook)
        matplotlib.pyplot.close("all")


@pytest.mark.parametrize("pattern", LINKING)
def test_links_lead_to_files_and_headings(pattern):
    pages = list(ROOT.glob(pattern))
    assert pages
    assert not {page.name: broken for page in pages if (broken := broken_links(page))}


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A `b`, c\n[](#a-b-c) [](#d) [](page.md) [](no.md) [](page.md#e) [](https://f)\n```\n# d [](g)\n```\n"
    )
    assert broken_links(page) == ["#d", "no.md", "page.md#e"]


def test_every_public_name_is_documented_and_exported():
    named = bitfm.core, bitfm.data, bitfm.datasets, bitfm.evaluation, bitfm.models, bitfm.parameters
    need_documented("docs/api.md", bitfm, *named, bitfm.persist, bitfm.retrieval, bitfm.testing, bitfm.validation)
