"""``bitfm evaluate``: how good a recommender is, with all it knows and without some of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._config import Config, model_alone
from bitfm.cli._tables import latest, need_measurable, read_named
from bitfm.cli.screen import busy, line, note, notes_of_warnings, print_json, show
from bitfm.errors import TableError

if TYPE_CHECKING:
    from bitfm import Recommender
    from bitfm.data import Interactions

__all__ = ["accuracy", "evaluate", "known_share"]

_WITHOUT = "Also with a field (user.history) left out of the fitted model, without a new fit; each: every one."
_ALL = "Test on all rows, also if the model remembers which were held out."
_MANY = 0.1  # share of the pairs that a model may know before its figures are doubted


def evaluate(
    interactions: option.Interactions,
    model: option.Model = None,
    columns: option.Columns = None,
    separator: option.Separator = None,
    quote: option.Quote = None,
    escape: option.Escape = None,
    encoding: option.Encoding = None,
    skip_bad: option.SkipBad = 0,
    without: Annotated[option.Texts, typer.Option(metavar="FIELD", help=_WITHOUT)] = None,
    k: Annotated[int, typer.Option("--k", min=1, help="How many items to look at.")] = 10,
    baselines: option.Baselines = False,
    everything: Annotated[bool, typer.Option("--all", help=_ALL)] = False,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Measure a recommender on interactions it has not seen.

    bitfm evaluate shop.bitfm --interactions ratings.csv --without user.history
    """
    path = model_alone(model)
    import bitfm

    rec = bitfm.load(path)
    marks = {rec.state.roles.decimal, *(getattr(column.kind, "decimal", None) for column in rec.state.context)}
    how = option.reading({**locals(), "decimal": "," if "," in marks else None})
    with notes_of_warnings():
        table = rec.interactions(read_named(interactions, columns, how))
    need_measurable(table)
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
    elif (known := known_share(rec, table)) > _MANY:
        note(f"{known:.0%} of these interactions are in the model's own history: the figures flatter it")
    fields = rec.fields if "each" in (without or ()) else (without or [])
    seed = None if held_out is None else held_out.seed
    rows = accuracy(rec, test, training_data, k=k, seed=seed or 0, without=fields)
    about = {
        "model": str(path),
        "data": interactions,
        "split": "all rows" if held_out is None else str(held_out),
        "seed": seed,
        "interactions": len(test),
        "seconds": time.perf_counter() - begin,
    }
    if as_json:
        print_json({**about, "rows": rows})
        return
    show(f"Accuracy of {path}", rows)
    line(f"{interactions}: {about['split']}; {len(test):,} interactions; {about['seconds']:.1f} s")


def accuracy(
    rec: Recommender,
    test: Interactions,
    training_data: tuple[Any, Any] | None,
    *,
    k: int = 10,
    seed: int = 0,
    without: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return what baselines that are fitted to the training data reach, the recommender, and it without some fields."""
    rows = []
    if training_data is not None:
        from bitfm.cli._baselines import BASELINES, EVENT_BASELINES

        for name, fit in (EVENT_BASELINES if test.target is None else BASELINES).items():
            begin = time.perf_counter()
            with busy(f"fitting {name}"):
                model = fit(*training_data, seed)
            seconds = time.perf_counter() - begin
            with busy(f"testing {name}"):
                rows.append({"model": name, **rec.evaluate(test, k=k, model=model).rows(), "seconds": seconds})
    for name, fields in {"ours": [], **{f"ours, without {field}": [field] for field in without}}.items():
        with busy(f"testing {name}"):
            rows.append({"model": name, **rec.evaluate(test, k=k, without=fields).rows()})
    return rows


def known_share(rec: Recommender, interactions: Interactions) -> float:
    """Return the share of some interactions whose user and item the recommender has seen together."""
    state = rec.state
    users, items = state.users.ids.indices(interactions.users), state.items.ids.indices(interactions.items)
    known = (users >= 0) & (items >= 0)
    return float(state.log.holds(users[known], items[known]).sum()) / len(interactions)
