"""The code in the documents runs as shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [
    "README.md",
    "docs/index.md",
    "docs/quickstart.md",
    "docs/recommender.md",
    "docs/data.md",
    "docs/models.md",
    "docs/evaluation.md",
]


@pytest.mark.parametrize("page", PAGES)
def test_python_blocks_run_in_order(page, tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), flags=re.MULTILINE | re.DOTALL)
    assert blocks, f"{page} shows no code"
    monkeypatch.chdir(tmp_path)
    names = {"__name__": page}
    for block in blocks:
        exec(compile(block, page, "exec"), names)  # what a reader would paste, one after another


def test_every_public_name_is_documented_and_exported():
    import bitfm
    import bitfm.data
    import bitfm.data.prepare
    import bitfm.evaluation
    import bitfm.models
    import bitfm.models.hashing
    import bitfm.models.losses
    import bitfm.models.solvers

    api = (ROOT / "docs/api.md").read_text()
    models = (bitfm.models, bitfm.models.hashing, bitfm.models.losses, bitfm.models.solvers)
    modules = (bitfm, bitfm.data, bitfm.data.prepare, bitfm.evaluation, *models)
    for module in modules:
        for name in module.__all__:
            assert hasattr(module, name)
            if name not in ("__version__", "Callback"):
                assert getattr(module, name).__doc__, name
                assert re.search(rf"\b{name}\b", api), f"{name} is missing in docs/api.md"
