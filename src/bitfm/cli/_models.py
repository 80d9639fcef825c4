"""The model file that a command is about."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bitfm.cli._config import is_from_config

if TYPE_CHECKING:
    import polars as pl

    from bitfm import Recommender
    from bitfm.data import Interactions

__all__ = [
    "known_share",
    "model_alone",
    "model_and_rest",
    "need_writable",
    "polars_of",
    "rows_of",
    "stored_ids",
    "unknown_items",
    "unknown_users",
    "with_percent",
]

_SUFFIX = ".bitfm"


def model_and_rest(context: typer.Context, model: str | None, rest: Sequence[str | None]) -> tuple[Path, list[str]]:
    """Part the model from the arguments after it.

    The model may be left out where bitfm.toml names one; then a first argument that ends in .bitfm is a model all the
    same.
    """
    default = context.lookup_default("model")
    first = [] if model is None or is_from_config(context, "model") else [model]
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


def unknown_users(rec: Recommender, ids: Sequence[str]) -> list[str]:
    """Return those of some users of whom the recommender knows nothing."""
    numbers = rec.state.users.indices_of(ids)
    return [user for user, number in zip(ids, numbers.tolist(), strict=True) if number < 0]


def unknown_items(rec: Recommender, ids: Sequence[str]) -> list[str]:
    """Return those of some items that the recommender does not know."""
    numbers = rec.state.items.indices_of(ids)
    return [item for item, number in zip(ids, numbers.tolist(), strict=True) if number < 0]


def stored_ids(rec: Recommender, side: str, ids: Sequence[str]) -> dict[str, Any]:
    """Return ids as they were at the fit, such as whole numbers, by what was typed; what is not known stays."""
    known = rec.state.side(side)
    numbers = known.indices_of(ids)
    stored = known.ids_of(numbers[numbers >= 0]).to_list()
    return {typed: typed for typed in ids} | {str(one): one for one in stored}


def known_share(rec: Recommender, interactions: Interactions) -> float:
    """Return the share of some interactions whose user and item the recommender has seen together."""
    state = rec.state
    users, items = state.users.ids.indices(interactions.users), state.items.ids.indices(interactions.items)
    known = (users >= 0) & (items >= 0)
    return float(state.log.holds(users[known], items[known]).sum()) / len(interactions)
