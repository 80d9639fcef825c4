"""``bitfm evaluate``: how good a recommender is, with all it knows and without some of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._accuracy import OURS, baseline_rows, own_row
from bitfm.cli._config import Config, configurable
from bitfm.cli._models import known_share, model_alone
from bitfm.cli._split import latest, need_measurable
from bitfm.cli._tables import read_named
from bitfm.cli.screen import line, note, print_json, show
from bitfm.errors import TableError

if TYPE_CHECKING:
    from bitfm import Recommender
    from bitfm.data import HeldOut, Interactions

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
    baselines: option.Baselines = False,
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
    table = rec.interactions(read_named(interactions, columns, separator))
    need_measurable(table)
    begin = time.perf_counter()
    held_out = None if everything else rec.held_out
    if baselines and held_out is None:
        raise typer.BadParameter("needs a model that was fitted with --test", param_hint="--baselines")
    rows: list[dict[str, Any]] = []
    if held_out is None:
        test = table
        _warn_if_known(rec, table)
    else:
        train, test = _parts(interactions, latest(table), path, held_out)
        if baselines:
            rows = baseline_rows(rec, rec.training_data(train), test, k=k, seed=held_out.seed)
    rows.append(own_row(rec, test, k=k))
    fields = rec.fields if _EACH in (without or ()) else (without or [])
    rows += [own_row(rec, test, f"{OURS}, without {field}", k=k, without=[field]) for field in fields]
    about = {
        "model": str(path),
        "data": interactions,
        "split": "all rows" if held_out is None else str(held_out),
        "seed": None if held_out is None else held_out.seed,
        "interactions": len(test),
        "seconds": time.perf_counter() - begin,
    }
    if as_json:
        print_json({**about, "rows": rows})
        return
    show(f"Accuracy of {path}", rows)
    line(f"{interactions}: {about['split']}; {len(test):,} interactions; {about['seconds']:.1f} s")


def _parts(source: str, table: Interactions, path: Path, held_out: HeldOut) -> tuple[Interactions, Interactions]:
    try:
        return table.split_as(held_out)
    except TableError as error:
        raise TableError(
            f"{source}, of which {path} was fitted to a part: {error} Or give --all to test on all of it."
        ) from None


def _warn_if_known(rec: Recommender, table: Interactions) -> None:
    known = known_share(rec, table)
    if known > _MANY:
        note(f"{known:.0%} of these interactions are in the model's own history: the figures flatter it")
