"""``bitfm compare``: which of two recommenders is better on the same interactions, and whether that may be chance."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from bitfm.cli import _options as option
from bitfm.cli._tables import read_like
from bitfm.cli.progress import busy
from bitfm.cli.screen import line, note, notes_of_warnings, print_json, show

if TYPE_CHECKING:
    from bitfm import ModelComparison

_CAPTION = (
    "difference: the first minus the second, over users who have both; low, high: its 95 % interval over users; p: how "
    "often chance alone makes it as large; p adjusted: for the number of measures (Holm)"
)


@option.with_options_of(option.FileOptions)
def compare(
    context_: typer.Context,
    first: Annotated[Path, Argument(metavar="FIRST", help="File that bitfm fit wrote.")],
    second: Annotated[Path, Argument(metavar="SECOND", help="Another one.")],
    interactions: option.Interactions,
    k: Annotated[int, Option("--k", min=1, help="How many items to look at.")] = 10,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
) -> None:
    """Compare two recommenders on interactions that neither has learnt from, user by user.

    bitfm compare old.bitfm new.bitfm --interactions later.csv
    """
    import bitfm

    one, two = (bitfm.load(path) for path in (first, second))
    begin = time.perf_counter()
    table = read_like(interactions, context_.params, one, two)
    with notes_of_warnings(), busy("testing both"):
        found = bitfm.compare(one, two, table, k=k)
    rows, seconds = found.rows(), time.perf_counter() - begin
    about: dict[str, Any] = {"first": str(first), "second": str(second), "data": interactions}
    about |= {"users": found.first.users, "interactions": found.first.interactions, "left_out": found.left_out}
    about |= {"unknown_users": found.unknown_users, "unknown_items": found.unknown_items, "seconds": seconds}
    for text in _remarks(found, (first, second)):
        note(text)
    if as_json:
        print_json({**about, "rows": rows})
        return
    show(f"first: {first}, second: {second}", rows, caption=_CAPTION)
    line(f"{interactions}: {found.first.interactions:,} interactions of {found.first.users:,} users; {seconds:.1f} s")


def _remarks(found: ModelComparison, paths: tuple[Path, Path]) -> list[str]:
    """Return what to know of interactions, users and items that a model has seen, or not."""
    said = []
    if found.left_out:
        said.append(f"left out, since a model has learnt from them: {found.left_out:,} interactions")
    for path, users, items in zip(paths, found.unknown_users, found.unknown_items, strict=True):
        if users:
            said.append(f"not known to {path}, so served without personalisation: {users:,} of the users")
        if items:
            said.append(f"not known to {path}, so never found: {items:,} of the items")
    return said
