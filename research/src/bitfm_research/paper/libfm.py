"""The one libFM of both figures and Table 1: gradient descent, tuned over the paper's grid on a validation part."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from bitfm.models import FM
from bitfm.validation import thread_count

from bitfm_research.bench.datasets import Split
from bitfm_research.paper.results import Measure, Results

__all__ = [
    "QUICK_STRENGTHS",
    "RATES",
    "STRENGTHS",
    "TUNED",
    "Setting",
    "chosen_setting",
    "measures_of",
    "setting_at",
    "tune_libfm",
    "with_l2",
]

# The paper's grid of L2 on the factors, and zero, which its Figure 2 has as well. It prints 10^-i for i from -4 to 2;
# we read 10^i, since already 100 leaves no factors.
STRENGTHS = (0.0, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
QUICK_STRENGTHS = (0.0, 1e-2, 1.0, 100.0)
RATES = (0.003, 0.01, 0.03)
TUNED = "FM, SGD; tuned"  # the rows of the setting that is best of all

_LINEAR_STRENGTHS = (0.02, 0.05, 0.1, 0.2, 0.4)
_FINER = 10**0.5  # between two powers of ten
_MOST_EPOCHS, _PATIENCE, _HELD_OUT = 60, 5, 0.1
_METRICS = {
    "validation RMSE": "rmse",
    "learning rate": "rate",
    "epochs": "epochs",
    "linear L2": "linear_l2",
    "L2": "l2",
}


@dataclass(frozen=True)
class Setting:
    """How to fit, and the error on the validation part by which it was chosen.

    Examples
    --------
    >>> Setting(l2=0.1, linear_l2=0.02, rate=0.01, epochs=12, rmse=0.9).model(16, seed=3).n_iter
    12
    """

    l2: float
    linear_l2: float
    rate: float
    epochs: int
    rmse: float

    def model(self, rank: int, seed: int) -> FM:
        """Return an FM to be fitted to all training ratings."""
        return FM(
            rank,
            solver="sgd",
            regularization=self.l2,
            linear_regularization=self.linear_l2,
            learning_rate=self.rate,
            n_iter=self.epochs,
            scale_targets=False,  # libFM does not, and the paper's grid is in its units
            random_state=seed,
        )


def tune_libfm(
    split: Split,
    rank: int,
    *,
    fields: Sequence[str] = (),
    strengths: Sequence[float] = STRENGTHS,
    rates: Sequence[float] = RATES,
    linear_l2: float | None = None,
    seed: int = 0,
) -> list[Setting]:
    """Return the best setting for each L2 of the factors.

    A tenth of the training ratings is held out, the same for every trial. The linear terms' L2 is chosen first, with
    that of the factors alike, unless it is given; then, for each L2 of the factors, the learning rate; then two more
    L2, half way from the best power of ten to its neighbours. Every trial stops when the error on what is held out has
    not fallen for five epochs, which gives the number of epochs.

    Parameters
    ----------
    split : Split
    rank : int
        Factors per feature.
    fields : sequence of str
        What is known beside ids.
    strengths, rates : sequences of float
        L2 of the factors and learning rates to try.
    linear_l2 : float, optional
        L2 of the linear terms, as another search has chosen it.
    seed : int, default 0
        Of what is held out, of the start and of the order of steps.
    """
    X, y = split.blocks("train", fields), split.train[2]

    def trial(l2: float, linear_l2: float, rate: float) -> Setting | None:
        model = Setting(l2, linear_l2, rate, _MOST_EPOCHS, 0.0).model(rank, seed)
        stop = {"early_stopping": True, "validation_fraction": _HELD_OUT, "patience": _PATIENCE, "n_jobs": 1}
        try:
            model.set_params(**stop).fit(X, y)
        except ValueError as error:
            if "diverged" not in str(error):
                raise
            return None  # the step is too long for so strong a penalty: a setting like any other, but a bad one
        best = min(model.fit_log_, key=lambda it: it.validation)
        return Setting(l2, linear_l2, rate, best.number, best.validation)

    with ThreadPoolExecutor(thread_count(-1)) as pool:  # each trial runs on one thread, and gives the same on any

        def tried(some: Iterable[float], linear: float | None) -> list[Setting]:
            """Return the best setting for each L2 of the factors; without one for the linear terms, that is alike."""
            trials = [(l2, l2 if linear is None else linear, rate) for l2 in some for rate in rates]
            best: dict[float, Setting] = {}
            for it in pool.map(lambda each: trial(*each), trials):
                if it is not None and (it.l2 not in best or it.rmse < best[it.l2].rmse):
                    best[it.l2] = it
            return list(best.values())

        def lowest(settings: Iterable[Setting]) -> Setting | None:
            return min(settings, key=lambda it: it.rmse, default=None)

        linear = linear_l2
        if linear is None:
            alike = lowest(tried(_LINEAR_STRENGTHS, None))
            linear = _LINEAR_STRENGTHS[0] if alike is None else alike.linear_l2
        found = tried(strengths, linear)
        best = lowest(found)
        if best is not None and best.l2:
            found += tried([best.l2 / _FINER, best.l2 * _FINER], linear)
    return sorted(found, key=lambda setting: setting.l2)


def measures_of(settings: Sequence[Setting], dataset: str, rank: int, suffix: str = "") -> list[Measure]:
    """Return rows for the settings of each L2, and for the best of all."""
    best = min(settings, key=lambda setting: setting.rmse)
    named = [*((with_l2(setting.l2), setting) for setting in settings), (TUNED, best)]
    return [
        Measure(dataset, name + suffix, rank, 0, metric, None, float(getattr(setting, attribute)))
        for name, setting in named
        for metric, attribute in _METRICS.items()
    ]


def chosen_setting(results: Results, dataset: str, rank: int, suffix: str = "") -> Setting:
    """Return the best setting of all, from the rows of an earlier search."""
    return _read(results, dataset, TUNED + suffix, rank)


def setting_at(results: Results, dataset: str, rank: int, l2: float) -> Setting:
    """Return the best setting for an L2 of the factors, from the rows of an earlier search."""
    return _read(results, dataset, with_l2(l2), rank)


def with_l2(l2: float) -> str:
    """Return the name of the rows with an L2 of the factors.

    >>> with_l2(0.1)
    'FM, SGD; l2=0.1'
    """
    return f"FM, SGD; l2={l2:g}"


def _read(results: Results, dataset: str, method: str, rank: int) -> Setting:
    found = {attribute: results.value(dataset, method, rank, 0, metric) for metric, attribute in _METRICS.items()}
    if None in found.values():
        raise ValueError(f"the results have no tuned {method} of {rank} factors on {dataset}; run it first.")
    known = {name: float(value) for name, value in found.items() if value is not None}
    return Setting(known["l2"], known["linear_l2"], known["rate"], round(known["epochs"]), known["rmse"])
