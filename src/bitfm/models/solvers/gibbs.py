"""The Bayesian factorization machine: Gibbs sampling of every weight, factor and hyperparameter in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm.core import column_sums, make_trainer
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats, check_finite
from bitfm.models.solvers.registry import FMParameters, FMProblem, Solution, Solver, register_solver
from bitfm.models.targets import TargetUnits
from bitfm.parameters.saving import MOST_NUMBERS

_REFRESH = 10  # steps after which residuals are computed anew, so that rounding cannot build up
_LINEAR_STEPS = 40  # of the start, and the sweeps of coordinate descent that follow, with their λ
_DESCENT_SWEEPS, _DESCENT_RIDGE = 5, 6.0
# Of the hyperpriors λ, τ ~ Gamma(½, ½) and μ | λ ~ N(0, 1 / λ): weak, for targets of variance 1.
_SHAPE = _RATE = _MEAN_WEIGHT = 1.0

_Fields: TypeAlias = list[npt.NDArray[np.intp]]  # the features of each that occur


class Samples(NamedTuple):
    """Draws from the posterior of a factorization machine: ``samples_`` of an `FM` fitted by Gibbs sampling.

    The chains take turns: with four of them, draws 0, 4, 8, … are of one chain, if all of them are kept.

    Attributes
    ----------
    biases, noise_precisions : array of float64, one per sample
        The latter are 1 / the variance of a target, given its score.
    weights : array, samples × features
    factors : array, samples × features × rank

    Examples
    --------
    >>> from bitfm import FM
    >>> FM(rank=8, solver="gibbs", n_samples=5).fit([[0, 1], [1, 0]], [3, 4]).samples_.factors.shape
    (5, 2, 8)
    """

    biases: npt.NDArray[np.float64]
    weights: Floats
    factors: Floats
    noise_precisions: npt.NDArray[np.float64]

    def parameters(self) -> FMParameters:
        """Return the means of biases and weights, and the last draw's factors, of which there is no mean."""
        weights = self.weights.mean(axis=0, dtype=np.float64).astype(self.weights.dtype)
        return FMParameters(float(self.biases.mean()), weights, self.factors[-1])

    def last(self, n: int) -> Samples:
        """Return the last n draws, or all if there are fewer, as numbers of their own."""
        return Samples(*(np.array(of[-n:]) for of in self))

    def scale(self, units: TargetUnits) -> None:
        """Change the draws into those for scores middle + unit · score."""
        unit, root = (self.factors.dtype.type(number) for number in (units.unit, np.sqrt(units.unit)))
        self.biases[:] = units.middle + units.unit * self.biases
        np.multiply(self.weights, unit, out=self.weights)
        np.multiply(self.factors, root, out=self.factors)
        self.noise_precisions[:] /= units.unit**2

    def __reduce__(self) -> tuple[Any, ...]:
        # NumPy pickles by the order of axes; what lies side by side must come back so.
        return from_features, (self.biases, self.weights, by_feature(self), self.noise_precisions)


def fit_gibbs(problem: FMProblem) -> Solution:
    """Draw from the posterior: a chain from each of several starts, or on from earlier draws."""
    s, previous = problem.settings, problem.previous
    n_chains = min(s.n_chains, s.n_samples)
    n_kept = min(s.n_samples, n_chains * (1 + (s.n_iter - 1) // s.thin))
    if n_kept * s.rank > MOST_NUMBERS:
        raise ValueError(
            f"n_samples: {n_kept} draws of rank {s.rank} are {n_kept * s.rank} "
            f"numbers per feature, but {MOST_NUMBERS} is the most; keep fewer draws."
        )
    rngs = [np.random.default_rng(seed) for seed in problem.rng.integers(2**63, size=n_chains)]
    if previous is not None and previous.samples is not None:
        starts = last_draws(previous.samples, n_chains, problem.train.blocks.dtype)
        problem.previous = previous._replace(samples=None)  # which are as large as the starts
    else:
        starts = [problem.start(rng) for rng in rngs]
    del previous
    samples = _draw_samples(problem, starts, rngs, n_kept)
    return Solution(samples.parameters(), samples)


def _draw_samples(
    problem: FMProblem, starts: list[FMParameters], rngs: list[np.random.Generator], n_kept: int
) -> Samples:
    """Run a chain from each start and return what they keep, the last draws last."""
    s, (blocks, y, sample_weight), resume = problem.settings, problem.train, problem.previous is not None
    trainer: Any = make_trainer(blocks.design(), y, sample_weight, across=s.across)
    mass = float(len(y) if sample_weight is None else sample_weight.sum())
    fields = occurring_by_field(blocks if sample_weight is None else blocks[sample_weight > 0])
    workers = min(s.threads, len(starts))
    chains = []
    for c, (start, rng) in enumerate(zip(starts, rngs, strict=True)):
        own_threads = s.threads // workers + (c < s.threads % workers)
        chains.append(GibbsChain(trainer.sibling() if c else trainer, fields, start, mass, rng, own_threads))
    n, (n_features, rank), dtype = 0, starts[0].factors.shape, blocks.dtype
    biases, noise, weights = np.empty(n_kept), np.empty(n_kept), np.empty((n_kept, n_features), dtype)
    factors = np.empty((n_features, n_kept, rank), dtype)
    with _in_threads(workers, trainer.cancel) as each:
        if not resume:
            each(GibbsChain.start, chains)
        for number in range(1, s.n_iter + 1):
            loss = float(np.mean(each(GibbsChain.step, chains)))
            check_finite("gibbs", number, loss)
            stop = problem.progress.report("gibbs", number, s.n_iter, loss, loss)
            # The last draws of all chains are kept, some sweeps apart; of the first such sweep maybe not all chains'.
            later, between = divmod(s.n_iter - number, s.thin)
            keeping = 0 if between else min(max(s.n_samples - later * len(chains), 0), len(chains))
            if stop and n + keeping < len(chains):  # of every chain a draw, for another fit to go on from
                keeping = min(n_kept - n, len(chains))
            for chain in chains[len(chains) - keeping :]:
                biases[n], noise[n] = chain.now.bias, chain.noise_precision
                weights[n], factors[:, n] = chain.now.weights, chain.now.factors
                n += 1
            if stop:
                break
    # There are fewer than there is room for if the fit was stopped.
    return from_features(biases[:n], weights[:n], np.ascontiguousarray(factors[:, :n]), noise[:n])


def occurring_by_field(blocks: Blocks) -> list[npt.NDArray[np.intp]]:
    """Return the features of each field that occur."""
    seen = blocks.occurring()
    return [np.flatnonzero(seen[f.start : f.stop]) + f.start for f in blocks.fields]


@contextmanager
def _in_threads(workers: int, cancel: Callable[[], None]) -> Iterator[Callable[[Any, list[Any]], list[Any]]]:
    """Yield a map over a list, in that many threads, or in none if there are none left; an error cancels them all."""
    if workers == 1 or not _threads_start(workers):
        yield lambda call, items: [call(item) for item in items]
        return
    with ThreadPoolExecutor(workers) as pool:
        try:
            yield lambda call, items: list(pool.map(call, items))
        except BaseException:
            cancel()
            pool.shutdown(cancel_futures=True)
            raise


def _threads_start(n: int) -> bool:
    """Whether the system gives that many threads."""
    done = threading.Event()
    threads = [threading.Thread(target=done.wait) for _ in range(n)]
    try:
        for thread in threads:
            thread.start()
        return True
    except RuntimeError:
        return False
    finally:
        done.set()
        for thread in threads:
            if thread.ident is not None:
                thread.join()


def by_feature(samples: Samples) -> Floats:
    """Return the factors as they lie in memory, features × samples × rank; nothing is copied."""
    return np.ascontiguousarray(samples.factors.transpose(1, 0, 2))


def from_features(biases: Floats, weights: Floats, factors: Floats, noise_precisions: Floats) -> Samples:
    """Return samples whose factors are given as they lie in memory, features × samples × rank."""
    return Samples(biases, weights, factors.transpose(1, 0, 2), noise_precisions)


def last_draws(samples: Samples, n_chains: int, dtype: np.dtype[Any]) -> list[FMParameters]:
    """Return as many of the last draws, repeated if there are fewer: where so many chains left off."""
    biases, weights, factors, _ = samples
    return [
        FMParameters(float(biases[k]), weights[k].astype(dtype), np.array(factors[k], dtype, order="C"))
        for k in ((len(biases) - n_chains + np.arange(n_chains)) % len(biases))
    ]


class _Prior:
    """Means and precisions of a parameter by field (and factor), drawn from their posterior given the parameter."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.precision, self.mean = np.ones(shape), np.zeros(shape)

    def draw(self, values: Floats, fields: _Fields, rng: np.random.Generator) -> None:
        for f, features in enumerate(fields):
            if not len(features):
                continue  # nothing to learn from, and 0 is what the mean's draws would average to
            n, mean = len(features), self.mean[f]
            sums, squares = _sums(values, features, mean)
            rate = _RATE + squares + _MEAN_WEIGHT * mean**2
            self.precision[f] = rng.gamma((_SHAPE + n + 1) / 2, 2 / rate)
            spread = 1 / np.sqrt((n + _MEAN_WEIGHT) * self.precision[f])
            self.mean[f] = sums / (n + _MEAN_WEIGHT) + spread * rng.standard_normal(np.shape(mean))


def _sums(values: Floats, features: npt.NDArray[np.intp], mean: Any) -> tuple[Any, Any]:
    """Return Σ v and Σ (v − mean)² over some features, of weights or of each factor."""
    if values.ndim == 2:
        return column_sums(values, features, mean)
    v = values[features].astype(np.float64)
    return v.sum(), ((v - mean) ** 2).sum()


class GibbsChain:
    """A Markov chain over the parameters of a factorization machine; a step draws each of them once.

    Weights and factors have normal priors by field (and factor) whose means and precisions are drawn as well, so what
    a field does not need is shrunk away with no parameter to tune. A feature that never occurs has no say in them and
    stays at the prior's mean, which its draws would average to.

    The chain takes targets of mean 0 and variance 1. It starts from draws of the linear part alone: begun with all
    parameters at once, factors first take over what weights should explain, and give it back only slowly. Then a few
    sweeps of coordinate descent wake the factors: where data are scarce, small ones would take dozens of sweeps.
    """

    def __init__(
        self, trainer: Any, fields: _Fields, now: FMParameters, mass: float, rng: np.random.Generator, n_threads: int
    ) -> None:
        self._trainer, self._fields, self._mass, self._rng, self._threads = trainer, fields, mass, rng, n_threads
        self._of_weights, self._of_factors = _Prior((len(fields),)), _Prior((len(fields), now.factors.shape[1]))
        self.now, self.noise_precision, self._steps = now, 1.0, 0

    def start(self, told: Callable[[], None] = lambda: None) -> None:
        """Draw bias and weights a few times with no factors, and tell of each time; then fit factors."""
        now = self.now
        none = np.zeros((len(now.weights), 1), now.weights.dtype)
        self._trainer.reset_reals(now.bias, now.weights, none, self._threads)
        for _ in range(_LINEAR_STEPS):
            self._draw_linear()
            told()
        self._trainer.reset_reals(now.bias, now.weights, now.factors, self._threads)
        ridge = np.full(len(self._fields), _DESCENT_RIDGE)
        for _ in range(_DESCENT_SWEEPS):
            self._trainer.sweep_factors(now.factors, ridge, None, 0.0, self._threads)

    def step(self) -> float:
        """Draw every parameter; return the loss."""
        now, prior = self.now, self._of_factors
        if self._steps % _REFRESH == 0:
            self._trainer.reset_reals(now.bias, now.weights, now.factors, self._threads)
        self._steps += 1
        self._draw_linear()
        prior.draw(now.factors, self._fields, self._rng)
        self._trainer.draw_factors(
            now.factors, prior.precision, prior.mean, self.noise_precision, self._seed(), self._threads
        )
        return float(self._trainer.loss(self._threads))

    def _draw_linear(self) -> None:
        loss = self._trainer.loss(self._threads)
        if not np.isfinite(loss):
            raise ValueError("gibbs: the numbers overflow; scale the features or the targets.")
        self.noise_precision = float(self._rng.gamma((_SHAPE + self._mass) / 2, 2 / (_RATE + loss)))
        now, prior = self.now, self._of_weights
        prior.draw(now.weights, self._fields, self._rng)
        now.bias = self._trainer.draw_weights(
            now.bias, now.weights, prior.precision, prior.mean, self.noise_precision, self._seed(), self._threads
        )

    def _seed(self) -> int:
        return int(self._rng.integers(2**63))


register_solver("gibbs", Solver(fit_gibbs, regularization=0.0, linear_regularization=0.0, n_iter=40, incremental=False))
