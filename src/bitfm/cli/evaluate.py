"""``bitfm evaluate``: how good a recommender is, with all it knows and without some of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._accuracy import OURS, own_row, rival_rows
from bitfm.cli._config import Config, configurable
from bitfm.cli._models import known_share, model_alone, roles_of
from bitfm.cli._split import SPLIT_NOTE, Fingerprint, Split
from bitfm.cli._tables import read_named
from bitfm.cli.screen import line, note, print_json, show
from bitfm.errors import TableError

if TYPE_CHECKING:
    import polars as pl

    from bitfm import Recommender

_EACH = "each"
_MANY = 0.1  # share of the pairs that a model may know before its figures are doubted


@configurable
def evaluate(
    interactions: option.Interactions,
    model: option.Model = None,
    columns: option.Columns = None,
    separator: option.Separator = None,
    without: Annotated[
        list[str] | None,
        typer.Option(
            "--without",
            metavar="FIELD",
            help="Also with a field (user.history) left out of the fitted model, without a new fit; each: every one.",
        ),
    ] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many items to look at.")] = 10,
    alone: Annotated[bool, typer.Option("--alone", help="Do not fit bias only and FM to compare with.")] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Test on all rows, also if the model remembers which were held out.")
    ] = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Measure a recommender on interactions it has not seen.

    bitfm evaluate shop.bitfm --interactions ratings.csv --without user.history
    """
    path = model_alone(model)
    import bitfm

    rec = bitfm.load(path)
    table = read_named(interactions, columns, separator)
    roles = roles_of(rec, table)
    roles.need_measurable(table)
    begin = time.perf_counter()
    remembered = None if everything else Split.remembered(rec.notes.get(SPLIT_NOTE))
    if remembered is None:
        split, test = None, table
        if SPLIT_NOTE in rec.notes and not everything:
            note("the model's note of its split cannot be read, so all rows are tested on; fit it again with --test")
        _warn_if_known(rec, table)
    else:
        split, fitted_on = remembered
        table = roles.latest(table)
        _need_same_table(interactions, Fingerprint.of(table, roles.user, roles.item), path, fitted_on)
        train = split.train(table, roles.user)
        test = table.filter(~train)
    rows: list[dict[str, Any]] = []
    if split is not None and not alone:
        rows = rival_rows(rec, table.filter(train), test, k=k, seed=split.seed)
    rows.append(own_row(rec, test, k=k))
    fields = rec.fields if _EACH in (without or ()) else (without or [])
    rows += [own_row(rec, test, f"{OURS}, without {field}", k=k, without=[field]) for field in fields]
    about = {
        "model": str(path),
        "data": interactions,
        "split": "all rows" if split is None else str(split),
        "seed": None if split is None else split.seed,
        "interactions": test.height,
        "seconds": time.perf_counter() - begin,
    }
    if as_json:
        print_json({**about, "rows": rows})
        return
    show(f"Accuracy of {path}", rows)
    line(f"{interactions}: {about['split']}; {test.height:,} interactions; {about['seconds']:.1f} s")


def _need_same_table(source: str, given: Fingerprint, path: Path, fitted_on: Fingerprint) -> None:
    if given == fitted_on:
        return
    if given.rows != fitted_on.rows:
        differs = f"{source} has {given.rows:,} rows, but {path} was fitted to a part of {fitted_on.rows:,}"
    else:
        differs = f"{source} has other users and items, or another order of rows, than the table {path} was fitted to"
    raise TableError(
        f"{differs}, so its test part cannot be found; give the table that it was fitted on, in the same order, or "
        "--all to test on all of this one"
    )


def _warn_if_known(rec: Recommender, table: pl.DataFrame) -> None:
    known = known_share(rec, table)
    if known > _MANY:
        note(f"{known:.0%} of these interactions are in the model's own history: the figures flatter it")
