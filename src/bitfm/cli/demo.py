"""``bitfm demo``: from tables to recommendations on generated data, in less than a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bitfm.cli import _options as option
from bitfm.cli.screen import note


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the model, the tables and the picture.")] = Path("demo"),
    seed: option.Seed = 0,
) -> None:
    """Generate a bookshop, compare five models on it, recommend books and say why."""
    from bitfm.cli._writing import may_hold_model

    if not may_hold_model(model := out / "bookshop.bitfm"):
        raise typer.BadParameter(f"{model} exists and is not a bitfm model; give another folder", param_hint="--out")
    note("generating a bookshop")
    from bitfm.cli._demo import show_all

    show_all(out, seed)
