"""Fields whose features have weights alone: long texts of contexts, whose factors cost most and often tell nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import make_trainer, release_memory
from bitfm.data.blocks import Block, Blocks
from bitfm.models.base import Floats, check_finite
from bitfm.models.solvers.gibbs import GibbsChain, occurring_by_field
from bitfm.models.solvers.held_out import HeldOutPart
from bitfm.models.solvers.registry import FMParameters
from bitfm.parameters import CodeParameters, FactorParameters

__all__ = ["WeightsAlone", "costly_fields", "settle_weights", "weights_alone"]

_MANY_ENTRIES, _LONG_ROWS = 500_000, 4  # of a field that costs much, and entries per row
_RANK, _SWEEPS, _DRAWS, _THIN = 8, 20, 4, 3  # of a short look at pairs
_LINEAR_DRAWS = 20  # of weights, before that
_RIDGE = 10.0  # of the weights that draws begin with
_LEAST_GAIN = 0.001  # share of the squared error that pairs are to take away, so that they are worth their cost
_LEAST_SWEEPS, _MOST_SWEEPS = 5, 50
_SETTLED = 1e-4  # share of the loss that a sweep may still take away when weights are done

Report = Callable[[int, int, float], bool]  # number of a sweep, of how many, its loss; whether to stop


@dataclass(frozen=True, eq=False)
class WeightsAlone:
    """Which fields have weights alone, and what these say of the targets; the others are fitted to what they leave.

    Attributes
    ----------
    blocks : Blocks
        Of all fields.
    chosen : array of bool
        Which fields these are.
    weights : array
        Of all features, fitted to all interactions.
    trial_weights : array
        Those fitted without the interactions held out.
    """

    blocks: Blocks
    chosen: npt.NDArray[np.bool_]
    weights: Floats
    trial_weights: Floats

    @property
    def others(self) -> Blocks:
        """The other fields."""
        found = _without(self.blocks, self.chosen)
        assert found is not None
        return found

    def scores(self, *, trial: bool = False) -> npt.NDArray[np.float64]:
        """Return what the weights add to the score of each interaction."""
        weights, total = self.trial_weights if trial else self.weights, np.zeros(len(self.blocks))
        spans = iter(zip(self.blocks.fields, self.chosen, strict=True))
        for block in self.blocks.blocks.values():
            for table, (span, chosen) in zip(block.tables.values(), spans, strict=False):
                if chosen:
                    total += table.sums(weights[span.start : span.stop, None])[block.rows, 0]
        return total

    def joined(self, fitted: CodeParameters) -> CodeParameters:
        """Return parameters of all fields from those of the others."""
        own = _features(self.blocks, self.chosen)
        weights = self.weights.astype(fitted.weights.dtype)
        weights[~own] = fitted.weights
        codes, gains = np.zeros((len(own), fitted.codes.shape[1]), np.uint8), np.zeros(len(own), np.float32)
        codes[~own], gains[~own] = fitted.codes, fitted.gains
        return CodeParameters(self.blocks.fields, fitted.bias, weights, codes, gains, fitted.pairs)


def costly_fields(blocks: Blocks) -> npt.NDArray[np.bool_]:
    """Return which fields have most of the entries: long rows that interactions hardly ever share."""
    return np.array([
        not (table.identity or table.is_dense)
        and 2 * block.n_rows > len(block)
        and table.n_entries > max(_MANY_ENTRIES, _LONG_ROWS * block.n_rows)
        for block in blocks.blocks.values()
        for table in block.tables.values()
    ])  # fmt: skip


def weights_alone(
    blocks: Blocks, y: Floats, held_out: npt.NDArray[np.bool_], *, seed: int, n_threads: int, report: Report
) -> WeightsAlone | None:
    """Return the costly fields, if there are any and their pairs with other fields do not help to predict.

    A few draws of a small FM tell, from what is not held out: whether its pairs with these fields, times the
    factor that suits them best, take enough away of the error that weights alone make where it is held out.
    """
    costly = costly_fields(blocks)
    if not costly.any() or _without(blocks, costly) is None:
        return None
    learnt = (~held_out).astype(blocks.dtype)
    look = _look(blocks, y, learnt, seed, n_threads, report)
    release_memory()  # of the draws
    linear = _linear(blocks, y, learnt, look, n_threads)
    part = HeldOutPart(blocks[held_out], y[held_out], n_threads)
    plain = part.scores(linear)
    rest = look.factors * ~_features(blocks, costly)[:, None]
    everything, others = (
        part.scores(replace(linear, weights=np.zeros_like(linear.weights), factors=each))
        for each in (look.factors, rest)
    )
    pairs = everything - others
    size = float(np.sum(pairs * pairs))
    factor = float(np.sum(pairs * (part.y - plain))) / size if size > 0 else 0.0
    without, with_pairs = part.judge(plain), part.judge(plain + max(factor, 0.0) * pairs)
    gain = 1 - with_pairs.error / (without.error or 1.0)
    if gain > _LEAST_GAIN and with_pairs.is_better_than(without):
        return None
    return WeightsAlone(blocks, costly, _linear(blocks, y, None, look, n_threads).weights, linear.weights)


def settle_weights(trainer: Any, bias: float, weights: Floats, ridge: npt.NDArray[np.float64], n_threads: int) -> float:
    """Fit weights, with one λ per field, to what the trainer's pairs leave; return the bias."""
    loss = float("inf")
    for number in range(1, _MOST_SWEEPS + 1):
        bias = trainer.sweep_weights(bias, weights, ridge, True, n_threads)
        before, loss = loss, trainer.loss(n_threads)
        if number >= _LEAST_SWEEPS and before - loss <= _SETTLED * before:
            break
    return bias


class _Look(NamedTuple):
    """Weights without factors, with the λ that suits those of each field; and draws of factors side by side."""

    weights: Floats
    ridge: npt.NDArray[np.float64]
    factors: Floats


def _look(blocks: Blocks, y: Floats, learnt: Floats, seed: int, n_threads: int, report: Report) -> _Look:
    """Draw weights, and then factors as well, a few times, by the interactions of weight 1; a copy would be large."""
    unit, fields = float(np.std(y[learnt > 0])) or 1.0, occurring_by_field(blocks)
    rng, n, dtype = np.random.default_rng(seed), blocks.n_features, blocks.dtype
    targets = (y - np.mean(y[learnt > 0])) / unit
    trainer: Any = make_trainer(blocks.design(), targets, learnt, across=True)
    # A field's weights begun with 0 would be taken for small ones for dozens of draws.
    start = FMParameters(0.0, np.zeros(n, dtype), dtype.type(0.1) * rng.standard_normal((n, _RANK), dtype.type))
    trainer.reset_reals(0.0, start.weights, start.factors[:, :1] * 0, n_threads)
    start.bias = settle_weights(trainer, 0.0, start.weights, np.full(len(fields), _RIDGE), n_threads)
    chain = GibbsChain(trainer, fields, start, float(learnt.sum()), rng, n_threads)
    linear: deque[tuple[Floats, float]] = deque(maxlen=_LINEAR_DRAWS)
    chain.start(lambda: linear.append((chain.now.weights.copy(), 1 / chain.noise_precision)))
    draws, noises = (np.array(each) for each in zip(*linear, strict=True))
    squares, noise = np.mean(np.square(draws, dtype=np.float64), axis=0), float(np.mean(noises))
    weights = draws.mean(axis=0)
    linear.clear()
    del draws
    ridge = [noise / max(float(np.mean(squares[each])), 1e-6 * noise) if len(each) else 1.0 for each in fields]
    factors: deque[Floats] = deque(maxlen=_DRAWS)
    for number in range(1, _SWEEPS + 1):
        loss = chain.step()
        check_finite("pairs", number, loss)
        if number % _THIN == 0 or number == 1:
            factors.append(chain.now.factors.copy())
        if report(number, _SWEEPS, loss * unit**2):
            break
    kept = np.concatenate(factors, axis=1)
    kept *= dtype.type(np.sqrt(unit / len(factors)))
    return _Look(weights * dtype.type(unit), np.array(ridge), kept)


def _linear(blocks: Blocks, y: Floats, learnt: Floats | None, look: _Look, n_threads: int) -> FactorParameters:
    """Return weights without factors, fitted to all interactions or to those of weight 1."""
    trainer: Any = make_trainer(blocks.design(), y, learnt, across=True)
    weights, bias = look.weights.copy(), float(np.mean(y))
    none = np.zeros((len(weights), 1), weights.dtype)
    trainer.reset_reals(bias, weights, none, n_threads)
    bias = settle_weights(trainer, bias, weights, look.ridge, n_threads)
    return FactorParameters(blocks.fields, bias, weights, none, "across")


def _features(blocks: Blocks, fields: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    return np.repeat(fields, [field.size for field in blocks.fields])


def _without(blocks: Blocks, fields: npt.NDArray[np.bool_]) -> Blocks | None:
    """Return blocks without some of the fields; None if there would not be two of them."""
    kept, flags = {}, iter(fields)
    for name, block in blocks.blocks.items():
        tables = {field: table for field, table in block.tables.items() if not next(flags)}
        if tables:
            kept[name] = Block(block.rows, tables)
    return Blocks(**kept) if len(kept) > 1 else None
