"""What each part of the distilled codes contributes: one thing changed at a time.

An ablation is a function that returns its settings. To add one, write the function and put it in `ABLATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bitfm import DistilledFM
from bitfm.models import FM
from bitfm.validation import check_choice, check_integer

from bitfm_research.bench.datasets import Split, load, need_data
from bitfm_research.bench.measure import WITH_HISTORY, Row, measure

__all__ = ["ABLATIONS", "Ablation", "Setting", "run", "select"]

_BITS = 64
_KEPT_SWEEPS = 32  # of the default chains' 40: those whose draws count


@dataclass(frozen=True)
class Setting:
    """A model and the fields it is given."""

    model: DistilledFM
    fields: tuple[str, ...] = WITH_HISTORY


@dataclass(frozen=True)
class Ablation:
    """Settings that differ in one thing, by what a reader should call them.

    Where they are steps of one quantity, `quantity` names it, and a picture joins them by a line.
    """

    name: str
    settings: dict[str, Setting]
    quantity: str | None = None


Make = Callable[[], Ablation]


def bits() -> Ablation:
    """Vary the length of the codes."""
    lengths = (8, 16, 32, 64, 128, 256)
    return Ablation("code length", {str(b): Setting(DistilledFM(b)) for b in lengths}, "bits")


def gains() -> Ablation:
    """Give every feature a gain of its own, or every field one for all its features."""
    models = {"feature": DistilledFM(_BITS), "field": DistilledFM(_BITS, gains="field")}
    models |= {"feature, 8": DistilledFM(8), "field, 8": DistilledFM(8, gains="field")}
    return Ablation("one gain per …, 64 and 8 bits", {name: Setting(model) for name, model in models.items()})


def strength() -> Ablation:
    """Vary λ, from the data alone to the teacher alone."""
    models = {name: DistilledFM(8, anchor_strength=float(name)) for name in ("0", "0.1", "1", "10", "100", "inf")}
    return Ablation("anchor strength, 8 bits", {_infinity(name): Setting(model) for name, model in models.items()}, "λ")


def validation() -> Ablation:
    """Choose λ and the scale of each field's gains on held-out ratings, or take them as they come."""
    models = {"on": DistilledFM(_BITS), "off": DistilledFM(_BITS, validation_fraction=0.0)}
    return Ablation("validation of gains", {name: Setting(model) for name, model in models.items()})


def teacher() -> Ablation:
    """Learn from a posterior mean, from a point estimate (here of targets as they are), or from both."""
    models = {"both": DistilledFM(_BITS), "Gibbs": DistilledFM(_BITS, teacher=_gibbs())}
    models["ALS"] = DistilledFM(_BITS, teacher=FM(rank=16, regularization=30.0, linear_regularization=10.0, n_iter=15))
    return Ablation("teacher", {name: Setting(model) for name, model in models.items()})


def draws() -> Ablation:
    """Vary the number of draws that the teacher keeps, from the same sweeps of its chains."""
    teachers = {}
    for n in (1, 4, 16, 64, 128):
        of_a_chain = max(1, n // 4)
        teachers[str(n)] = FM(rank=16, solver="gibbs", n_samples=n, thin=_KEPT_SWEEPS // of_a_chain)
    return _teachers("teacher's draws", teachers, "draws kept")


def chains() -> Ablation:
    """Vary the number of chains, which keep 64 draws together, or as many as there are."""
    teachers = {}
    for n in (1, 2, 4, 8):
        thin = max(1, _KEPT_SWEEPS * n // 64)
        teachers[str(n)] = FM(rank=16, solver="gibbs", n_chains=n, thin=thin, n_samples=min(64, _KEPT_SWEEPS * n))
    return _teachers("teacher's chains", teachers, "chains")


def sweeps() -> Ablation:
    """Vary the length of the chains; the same share of it is left out at the start."""
    teachers = {str(n): FM(rank=16, solver="gibbs", n_iter=n, thin=n // 20) for n in (20, 40, 80, 160)}
    teachers["40"] = _gibbs()
    return _teachers("teacher's sweeps", teachers, "sweeps")


def rank() -> Ablation:
    """Vary the number of factors that the teacher has."""
    return _teachers("teacher's rank", {str(k): FM(rank=k, solver="gibbs") for k in (4, 8, 16, 32)}, "factors")


def histories() -> Ablation:
    """Leave out what else a user has rated, who else has rated an item, or both."""
    fields = {"both": WITH_HISTORY, "history": ("history",), "raters": ("raters",), "neither": ()}
    return Ablation("history and raters", {name: Setting(DistilledFM(_BITS), own) for name, own in fields.items()})


def pairs() -> Ablation:
    """Let features interact with those of the other side alone, or with their own side's, too."""
    models = {"across": DistilledFM(_BITS), "all": DistilledFM(_BITS, pairs="all")}
    return Ablation("pairs", {name: Setting(model) for name, model in models.items()})


def _gibbs() -> FM:
    return FM(rank=16, solver="gibbs")


def _teachers(name: str, teachers: dict[str, FM], quantity: str) -> Ablation:
    """Compare Bayesian teachers, with no other beside them."""
    return Ablation(name, {which: Setting(DistilledFM(_BITS, teacher=fm)) for which, fm in teachers.items()}, quantity)


def _infinity(name: str) -> str:
    return "∞" if name == "inf" else name


ABLATIONS = (bits, gains, strength, teacher, draws, chains, sweeps, rank, histories, pairs, validation)


def select(names: Sequence[str] | None) -> list[Make]:
    """Return the ablations of these names; all, if there are none."""
    known = {make.__name__: make for make in ABLATIONS}
    return [known[check_choice("ablation", name, tuple(known))] for name in names or known]


def run(
    dataset: str = "ml-100k",
    *,
    seeds: int = 3,
    ablations: Sequence[Make] = ABLATIONS,
    held_out: bool = False,
    folder: Path | None = None,
    say: Callable[[str], None] = print,
) -> Iterator[tuple[Split, list[Row]]]:
    """Measure every setting of every ablation, with each seed; a setting that several have in common only once.

    With `held_out` the scores are of a fifth of the training part, on which defaults may be settled.

    Yields
    ------
    split, rows
        When a seed is done: for every setting a row with ``dataset``, ``split``, ``ablation``, ``quantity``,
        ``setting``, ``NDCG@1``, ``NDCG@5``, ``NDCG@10``, ``RMSE``, ``bytes per feature``, ``seconds``, ``fields`` and
        ``seed``.
    """
    check_integer("seeds", seeds, 1)
    folder = need_data(folder)
    for seed in range(seeds):
        split = load(dataset, folder, seed)
        if held_out:
            split = split.validation(0.2, seed=seed)
        yield split, measure_all(split, seed, ablations, say)


def measure_all(split: Split, seed: int, ablations: Sequence[Make], say: Callable[[str], None]) -> list[Row]:
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
