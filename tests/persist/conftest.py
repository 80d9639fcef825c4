"""A small valid model file, and the means to make invalid ones from it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bitfm import persist

Header = dict[str, Any]


class Sample:
    """A valid file: whole, and taken apart."""

    def __init__(self, raw: bytes) -> None:
        length = int.from_bytes(raw[:8], "little")
        self.raw = raw
        self.data = raw[8 + length :]
        self._header: Header = json.loads(raw[8 : 8 + length])

    @property
    def header(self) -> Header:
        return copy.deepcopy(self._header)

    @staticmethod
    def assemble(header: Header | bytes, data: bytes = b"") -> bytes:
        """Put a file together as the writer does, from a header that the writer would not write."""
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        text += b" " * (-(8 + len(text)) % 64)
        return len(text).to_bytes(8, "little") + text + data


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "model.bitfm"


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Sample:
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
    return Sample(path.read_bytes())
