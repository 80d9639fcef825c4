"""``bitfm remove``: a model without some users and items."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from bitfm.cli import _options as option
from bitfm.cli._config import FILE_NAME, Config, model_alone
from bitfm.cli._titles import item_id
from bitfm.cli._writing import may_hold_model, need_writable
from bitfm.cli.screen import line, note, print_json
from bitfm.errors import BitfmWarning

_OUT = "The model file to write; it may be MODEL."


def remove(
    model: option.Model = None,
    *,
    out: Annotated[Path, Option("-o", "--out", help=_OUT)],
    user: Annotated[option.Texts, Option(metavar="ID", help="A user to remove. Repeatable.")] = None,
    item: Annotated[option.Texts, Option(metavar="ID", help="An item to remove, or its title. Repeatable.")] = None,
    force: Annotated[bool, Option("--force", help="Replace a file that is not a bitfm model.")] = False,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Remove users and items from a model, with all that it knows of them.

    bitfm remove shop.bitfm --user u42 --item i7 -o new.bitfm
    """
    path = model_alone(model)
    if not user and not item:
        raise typer.BadParameter("name who or what is to be removed, by --user or --item", param_hint="--user")
    need_writable(out, [config or FILE_NAME])
    if not force and not may_hold_model(out):
        told = f"{out} exists and is not a bitfm model; give another name, or --force to replace it"
        raise typer.BadParameter(told, param_hint="--out")
    from bitfm import Recommender

    rec = Recommender.load(path)
    items_gone = [item_id(rec, text) for text in item or ()]
    before = rec.n_users, rec.n_items
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", BitfmWarning)
        if user:
            rec.remove_users(user)
        if items_gone:
            rec.remove_items(items_gone)
    for warning in said:
        note(str(warning.message))
    rec.save(out)
    users, items = before[0] - rec.n_users, before[1] - rec.n_items
    if as_json:
        removed = {"users": users, "items": items}
        print_json({"model": str(out), "removed": removed, "users": rec.n_users, "items": rec.n_items})
        return
    left = f"{rec.n_users:,} users and {rec.n_items:,} items are left"
    line(f"removed users: {users:,}, items: {items:,}; {left}; written to {out} ({out.stat().st_size / 1e6:,.2f} MB)")
