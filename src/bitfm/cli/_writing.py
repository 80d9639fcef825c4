"""Whether a file may be written: checked before the work, and not after it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

import typer

from bitfm import persist
from bitfm.data.files import STANDARD_INPUT
from bitfm.errors import ModelFileError, NewerModelFileError
from bitfm.validation import check_path

__all__ = ["may_hold_model", "need_writable"]


def need_writable(path: Path, inputs: Iterable[str | Path] = (), option: str = "--out") -> None:
    """Refuse a file that could not be written or is one of the command's inputs, before the work and not after it."""
    check_path(path)
    for source in inputs:
        if _is_same(path, source):
            told = f"{path} is the same file as the input {source}, which would be lost; give another name"
            raise typer.BadParameter(told, param_hint=option)
    target = Path(os.path.realpath(path))  # a link stays, and what it names is written
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; give the name of a file to write")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file; give the name of a file to create or replace")
    if not target.parent.is_dir():
        folder = target.parent if path.is_symlink() else path.parent
        raise FileNotFoundError(f"there is no folder {folder} to write {path.name} into; make it first")
    try:
        with tempfile.TemporaryFile(dir=target.parent):
            pass
    except OSError as problem:
        raise OSError(f"{path} cannot be written: {problem.strerror}; give a file in another folder") from None


def _is_same(path: Path, source: str | Path) -> bool:
    """Tell whether a file is one of the inputs, which may be standard input."""
    if source == STANDARD_INPUT:
        return path.exists() and os.path.samestat(path.stat(), os.fstat(0))
    check_path(source)
    there = path.exists() and os.path.exists(source)
    return os.path.samefile(path, source) if there else os.path.realpath(path) == os.path.realpath(source)


def may_hold_model(path: Path) -> bool:
    """Tell whether a model may be written here: there is no file yet, or one that bitfm wrote."""
    try:
        persist.read(path)
    except (FileNotFoundError, NewerModelFileError):
        return True
    except ModelFileError:
        return False
    return True
