"""The marker ``data``: such a test runs where its data sets are, and is skipped with the reason elsewhere."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def pytest_runtest_setup(item):
    """Skip a test whose folders, ``data("ml-1m", "paper")``, are not all in the folder that BITFM_DATA names."""
    for mark in item.iter_markers("data"):
        folder = os.environ.get("BITFM_DATA")
        if not folder:
            pytest.skip("needs the real data sets; BITFM_DATA names no folder")
        missing = [str(Path(folder) / name) for name in mark.args or ("",) if not (Path(folder) / name).is_dir()]
        if missing:
            pytest.skip(f"needs the real data sets; there is no folder {', '.join(missing)}")
