"""What each part of the anchored codes contributes: one thing changed at a time.

An ablation is a function that returns its settings. To add one, write the function and put it in `ABLATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitfm.bench._measure import WITH_HISTORY, Row, measure
from bitfm.bench.datasets import Split, load, need_data
from bitfm.models import FM, DiscreteFM
from bitfm.models._base import check_whole

__all__ = ["ABLATIONS", "Ablation", "Setting", "run"]

_BITS = 64
_BURN_IN, _CHAIN = 40, 60  # sweeps before the draws that are kept, and sweeps among which they are spread


@dataclass(frozen=True)
class Setting:
    """A model and the fields it is given."""

    model: DiscreteFM
    fields: tuple[str, ...] = WITH_HISTORY


@dataclass(frozen=True)
class Ablation:
    """Settings that differ in one thing, by what a reader should call them.

    Where they are steps of one quantity, `quantity` names it, and a picture joins them by a line.
    """

    name: str
    settings: dict[str, Setting]
    quantity: str | None = None


def bits() -> Ablation:
    """Vary the length of the codes."""
    lengths = (8, 16, 32, 64, 128, 256)
    return Ablation("code length", {str(b): Setting(DiscreteFM(b)) for b in lengths}, "bits")


def validation() -> Ablation:
    """Choose the scale of each field's gains on held-out ratings, or take it as it comes."""
    models = {"on": DiscreteFM(_BITS), "off": DiscreteFM(_BITS, validation_fraction=0.0)}
    return Ablation("validation of gains", {name: Setting(model) for name, model in models.items()})


def teacher() -> Ablation:
    """Learn from a posterior mean, or from a point estimate."""
    models = {"Gibbs": DiscreteFM(_BITS), "ALS": DiscreteFM(_BITS, teacher=FM(rank=16))}
    return Ablation("teacher", {name: Setting(model) for name, model in models.items()})


def samples() -> Ablation:
    """Vary the number of draws that the teacher keeps, from the same stretch of its chain as far as they fit."""
    settings = {}
    for n in (1, 3, 10, 30, 100):
        thin = max(1, _CHAIN // n)
        chain = FM(rank=16, solver="gibbs", n_iter=_BURN_IN + n * thin, n_samples=n, thin=thin)
        settings[str(n)] = Setting(DiscreteFM(_BITS, teacher=chain))
    return Ablation("teacher's draws", settings, "draws kept")


def histories() -> Ablation:
    """Leave out what else a user has rated, who else has rated an item, or both."""
    fields = {"both": WITH_HISTORY, "history": ("history",), "raters": ("raters",), "neither": ()}
    return Ablation("history and raters", {name: Setting(DiscreteFM(_BITS), own) for name, own in fields.items()})


ABLATIONS: tuple[Callable[[], Ablation], ...] = (bits, validation, teacher, samples, histories)


def run(
    dataset: str = "ml-100k",
    *,
    seeds: int = 3,
    ablations: Sequence[Callable[[], Ablation]] = ABLATIONS,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[tuple[Split, list[Row]]]:
    """Measure every setting of every ablation, with each seed; a setting that several have in common only once.

    Yields
    ------
    split, rows
        When a seed is done: for every setting a row with ``dataset``, ``split``, ``ablation``, ``quantity``,
        ``setting``, ``NDCG@1``, ``NDCG@5``, ``NDCG@10``, ``RMSE``, ``bytes a feature``, ``seconds``, ``fields`` and
        ``seed``.
    """
    check_whole("seeds", seeds, 1)
    folder = need_data(folder)
    for seed in range(seeds):
        split = load(dataset, folder, seed)
        yield split, measure_all(split, seed, ablations, say)


def measure_all(
    split: Split, seed: int, ablations: Sequence[Callable[[], Ablation]], say: Callable[[str], None]
) -> list[Row]:
    """Measure all ablations on one split, with one seed."""
    rows: list[Row] = []
    measured: dict[str, Row] = {}
    for make in ablations:
        ablation = make()
        for name, setting in ablation.settings.items():
            model = setting.model.set_params(random_state=seed)
            key = repr((model, setting.fields))
            if key not in measured:
                measured[key] = measure(split, model, setting.fields)
            reached = measured[key]["NDCG@10"]
            say(f"{split.name}, seed {seed}: {ablation.name}, {name}: NDCG@10 {reached:.4f}")
            head = {"dataset": split.name, "split": split.protocol, "ablation": ablation.name}
            rows.append({**head, "quantity": ablation.quantity, "setting": name, **measured[key], "seed": seed})
    return rows
