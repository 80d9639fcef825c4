"""``bitfm evaluate``: how good a recommender is, with all it knows and without some of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from bitfm.cli import _options as option
from bitfm.cli._accuracy import OURS, as_rows, measure, remark_on_seen, show_accuracy
from bitfm.cli._config import FILE_NAME, Config, model_alone
from bitfm.cli._tables import interactions_like, latest, read_like
from bitfm.cli._writing import need_writable
from bitfm.cli.progress import busy
from bitfm.cli.screen import line, print_json
from bitfm.errors import BitfmError, TableError

__all__ = ["evaluate"]

_WITHOUT = "Also with a field (user.history) left out of the fitted model, without a new fit; each: every one."
_ALL = "Test on all rows, also if the model remembers which were held out."
_PLOT = "Also draw the measures with their intervals (needs the extra plots)."


@option.with_options_of(option.FileOptions)
def evaluate(
    context_: typer.Context,
    interactions: option.Interactions,
    model: option.Model = None,
    without: Annotated[option.Texts, typer.Option(metavar="FIELD", help=_WITHOUT)] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many items to look at.")] = 10,
    baselines: option.Baselines = False,
    everything: Annotated[bool, typer.Option("--all", help=_ALL)] = False,
    plot: Annotated[Path | None, typer.Option(metavar="FILE.svg|png", help=_PLOT)] = None,
    jobs: option.Jobs = None,
    quiet: option.Quiet = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Measure a recommender on interactions it has not seen.

    bitfm evaluate shop.bitfm --interactions ratings.csv --without user.history
    """
    path = model_alone(model)
    import bitfm

    if plot is not None:
        need_drawable(plot, [interactions, path, config or FILE_NAME])
    rec = bitfm.load(path)
    table = interactions_like(rec, read_like(interactions, context_.params, rec))
    begin = time.perf_counter()
    held_out = None if everything else rec.held_out
    if baselines and held_out is None:
        raise typer.BadParameter("needs a model that was fitted with --test", param_hint="--baselines")
    test, training_data = table, None
    if held_out is not None:
        try:
            train, test = latest(table).split_as(held_out)
        except TableError as error:
            told = f"{interactions}, of which {path} was fitted to a part: {error} Or give --all to test on all of it."
            raise TableError(told) from None
        training_data = rec.training_data(train) if baselines else None
    else:
        remark_on_seen(rec, table)
    fields = rec.fields if "each" in (without or ()) else (without or [])
    seed = None if held_out is None else held_out.seed
    events = test.target is None
    found = measure(rec, test, training_data, k=k, seed=seed or 0, without=fields, popularity=events)
    if plot is not None:
        ours = next(one for one in found if one.name == OURS)
        others = {one.name: one.evaluation for one in found if one is not ours}
        with busy(f"drawing {plot}"):
            ours.evaluation.plot(plot, name=OURS, **others)
    about = {
        "model": str(path),
        "data": interactions,
        "split": "all rows" if held_out is None else str(held_out),
        "seed": seed,
        "interactions": len(test),
        "users": found[-1].evaluation.users,
        "seconds": time.perf_counter() - begin,
    }
    if as_json:
        print_json({**about, "rows": as_rows(found)})
        return
    show_accuracy(f"Accuracy of {path}", found)
    line(f"{interactions}: {about['split']}; {len(test):,} interactions; {about['seconds']:.1f} s")
    if plot is not None:
        line(f"drawn into {plot}")


def need_drawable(path: Path, inputs: list[str | Path]) -> None:
    """Refuse a picture that could not be drawn, before the work and not after it."""
    from bitfm import plotting

    if path.suffix.lower() not in plotting.ENDINGS:
        raise typer.BadParameter(f"{path} must end in {' or '.join(plotting.ENDINGS)}", param_hint="--plot")
    if not plotting.available():
        raise BitfmError(plotting.MISSING)
    need_writable(path, inputs, "--plot")
