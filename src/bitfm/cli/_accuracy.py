"""How good models are on what was held out: ours, those beside it, and how sure the figures are."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bitfm.cli.progress import busy
from bitfm.cli.screen import note, show

if TYPE_CHECKING:
    from bitfm import Evaluation, Recommender
    from bitfm.data import Interactions

__all__ = ["OURS", "Measured", "as_rows", "measure", "remark_on", "remark_on_seen", "show_accuracy"]

OURS, POPULARITY = "ours", "popularity"
_LEVEL = 0.05  # of the test that a remark stands on
_SIDE_BY_SIDE = 4  # models that have a column each; of more, each has a row
_MANY = 0.1  # share of the pairs that a model may know before its figures are doubted


@dataclass(frozen=True)
class Measured:
    """A model, what it reaches, and how long its fit took if that was now."""

    name: str
    evaluation: Evaluation
    seconds: float | None = None


def measure(
    rec: Recommender,
    test: Interactions,
    training_data: tuple[Any, Any] | None = None,
    *,
    k: int = 10,
    seed: int = 0,
    without: Sequence[str] = (),
    popularity: bool = False,
) -> list[Measured]:
    """Measure baselines that are fitted to the training data, popularity, ours, and ours without some fields."""
    found = []
    if popularity:
        found.append(Measured(POPULARITY, rec.evaluate(test, k=k, model=POPULARITY)))
    if training_data is not None:
        from bitfm.cli._baselines import BASELINES, EVENT_BASELINES

        for name, fit in (EVENT_BASELINES if test.target is None else BASELINES).items():
            begin = time.perf_counter()
            with busy(f"fitting {name}"):
                model = fit(*training_data, seed)
            seconds = time.perf_counter() - begin
            with busy(f"testing {name}"):
                found.append(Measured(name, rec.evaluate(test, k=k, model=model), seconds))
    for name, fields in {OURS: [], **{f"{OURS}, without {field}": [field] for field in without}}.items():
        with busy(f"testing {name}"):
            found.append(Measured(name, rec.evaluate(test, k=k, without=fields)))
    return found


def as_rows(measured: Sequence[Measured]) -> list[dict[str, Any]]:
    """Return one row per model, with the interval of each measure over users."""
    return [
        {"model": one.name, **one.evaluation.rows(), "intervals": one.evaluation.intervals()}
        | ({} if one.seconds is None else {"seconds": one.seconds})
        for one in measured
    ]


def show_accuracy(title: str, measured: Sequence[Measured]) -> None:
    """Show few models side by side, with the intervals of ours; of many, each in a row."""
    rows = as_rows(measured)
    if len(rows) > _SIDE_BY_SIDE:
        show(title, [{name: value for name, value in row.items() if name != "intervals"} for row in rows])
        return
    ours = next(row for row in rows if row["model"] == OURS)
    names = [name for name in ours if name not in ("model", "intervals", "seconds")]
    if any("seconds" in row for row in rows):
        names.append("seconds")
    table = []
    for name in names:
        line: dict[str, Any] = {"": "seconds of the fit" if name == "seconds" else name}
        for row in rows:
            line[row["model"]] = row.get(name)
            if row is ours:
                line["95 % interval"] = _between(ours["intervals"].get(name))
        table.append(line)
    show(title, table, caption="Intervals are over users: how far figures of others like them may lie apart.")


def _between(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f"{ends[0]:#.4g} to {ends[1]:#.4g}"


def remark_on(measured: Sequence[Measured]) -> str | None:
    """Return what to say if baselines rank better than ours by more than chance: people should not have to look."""
    from bitfm.evaluation import compare

    by_name = {one.name: one.evaluation for one in measured}
    ours, better = by_name[OURS], []
    for name, theirs in by_name.items():
        if name == OURS:
            continue
        test: Any = compare(theirs.measures["ndcg"], ours.measures["ndcg"])  # type: ignore[arg-type]
        if test.difference > 0 and test.p_value < _LEVEL:
            better.append(f"{name} by {test.difference:.4f} (95 % interval {test.low:.4f} to {test.high:.4f})")
    if not better:
        return None
    return f"NDCG@{ours.k} is better for {' and '.join(better)}; bitfm tune looks for settings that suit the data"


def remark_on_seen(rec: Recommender, test: Interactions) -> None:
    """Remark if a model has learnt from many of the interactions that it is tested on."""
    if (known := float(rec.state.has_seen(test).mean())) > _MANY:
        note(f"{known:.0%} of these interactions are in the model's own history: the figures flatter it")
