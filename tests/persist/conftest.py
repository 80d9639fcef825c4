"""A small valid model file, to make invalid ones from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from attacks.mutators import File
from bitfm import persist


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.bitfm"


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> File:
    path = tmp_path_factory.mktemp("sample") / "sample.bitfm"
    persist.write(
        path,
        {
            "codes": np.arange(6, dtype=np.uint64).reshape(3, 2),
            "gains": np.linspace(0, 1, 5, dtype=np.float32),
            "none": np.zeros((0, 4), dtype=np.int16),
            "seen": np.array([True, False, True]),
        },
        {"model": "demo", "settings": '{"bits": 64}'},
    )
    return File(path.read_bytes())
