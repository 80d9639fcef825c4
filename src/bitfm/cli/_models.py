"""The model file that a command is about."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bitfm.cli._config import source_of

if TYPE_CHECKING:
    import polars as pl

__all__ = ["model_alone", "model_and_rest", "need_writable", "polars_of", "rows_of", "with_percent"]

_SUFFIX = ".bitfm"


def model_and_rest(context: typer.Context, model: str | None, rest: Sequence[str | None]) -> tuple[Path, list[str]]:
    """Part the model from the arguments after it; one that bitfm.toml names may be left out, if no .bitfm is first."""
    default = context.lookup_default("model")
    first = [] if model is None or source_of(context, "model") == "DEFAULT_MAP" else [model]
    given = [*first, *(text for text in rest if text is not None)]
    if default is not None and not (given and given[0].endswith(_SUFFIX)):
        return Path(default), given
    if not given:
        raise typer.BadParameter("give a model file, or name one in bitfm.toml", param_hint="MODEL")
    return Path(given[0]), given[1:]


def model_alone(model: str | None) -> Path:
    """Return the model of a command that has no other arguments: what is given is the model, whatever its name."""
    if model is None:
        raise typer.BadParameter("give a model file, or name one in bitfm.toml", param_hint="MODEL")
    return Path(model)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame of any kind: a recommender answers in the kind that it was fitted on."""
    return polars_of(frame).to_dicts()


def with_percent(columns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what was made of columns as people read it: which share is missing, if any."""
    return [{**row, "missing": f"{row['missing']:.1%}" if row["missing"] else ""} for row in columns]


def polars_of(frame: Any) -> pl.DataFrame:
    """Return a frame of any kind as one of Polars."""
    from bitfm.data.tables import as_frame

    return as_frame("the result", frame)[0]


def need_writable(path: Path) -> None:
    """Refuse a file that could not be written, before the work and not after it."""
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
