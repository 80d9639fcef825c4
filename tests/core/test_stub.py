"""The committed stub names what the native module has, no more and no less."""

from __future__ import annotations

import ast
from pathlib import Path

import bitfm
from bitfm import _core


def test_the_stub_matches_the_module():
    tree = ast.parse((Path(bitfm.__file__).parent / "_core.pyi").read_text())
    stub = {
        node.name: {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        if isinstance(node, ast.ClassDef)
        else None
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    assert set(stub) == {name for name in dir(_core) if not name.startswith("_")}
    for name, methods in stub.items():
        if methods:
            built = {m for m in vars(getattr(_core, name)) if not m.startswith("_")} | {"__init__"}
            assert methods == built, name
