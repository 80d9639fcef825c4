"""The teacher of distilled codes: a real-valued factorization machine, or the mean of two."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import eigh, multiply, orthonormal, release_memory
from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats
from bitfm.models.fm import FM
from bitfm.models.progress import Callback, Iteration
from bitfm.models.solvers.gibbs import by_feature
from bitfm.models.solvers.registry import SOLVERS, FMParameters
from bitfm.models.solvers.teacher_distance import mean_squares
from bitfm.validation import thread_count

__all__ = [
    "HEAVY",
    "TeacherParameters",
    "default_teacher",
    "ridge_by_field",
    "teacher_by_descent",
    "teacher_by_draws",
    "teacher_parameters",
]

_RANK = 16
_CHAINS, _TRIAL_CHAINS = 4, 2
_DRAWS, _KEPT_SWEEPS = 16, 32  # draws of a chain, and the sweeps they are spread over
_MOST_BYTES = 2**26  # of draws at a time
HEAVY = 4_000_000  # entries of the tables, from which on there are half as many chains: each sees enough
_WIDTH = 4  # numbers kept per factor of the teacher
_ROWS_AT_ONCE = 8192
_EXAMPLES = 4096
# Of the teacher by coordinate descent, for targets of variance 1; the first λ is for a side's largest field.
_RIDGE, _WEIGHT_RIDGE, _SWEEPS = 30.0, 10.0, 15


class TeacherParameters(NamedTuple):
    """A teacher's factors, weights and bias, and the λ of the weights of each field."""

    factors: npt.NDArray[np.float32]
    weights: Floats
    bias: float
    ridge: npt.NDArray[np.float64]

    def averaged_with(self, other: FMParameters) -> TeacherParameters:
        """Return a teacher whose scores are the mean of this one's and another's; λ stays."""
        n, ours = self.factors.shape
        factors = np.empty((n, ours + other.factors.shape[1]), np.float32)
        for part, of in ((factors[:, :ours], self.factors), (factors[:, ours:], other.factors)):
            np.multiply(of, np.float32(np.sqrt(0.5)), out=part, casting="same_kind")
        return TeacherParameters(factors, (self.weights + other.weights) / 2, (self.bias + other.bias) / 2, self.ridge)


def teacher_parameters(teacher: FM, blocks: Blocks, y: Floats, *, across: bool, seed: int) -> TeacherParameters:
    """Return the parameters of a model that was fitted to these data."""
    factors = _factors_of(teacher, blocks, across=across, seed=seed)
    return TeacherParameters(factors, teacher.weights_, teacher.bias_, _weight_ridge(teacher, blocks, y))


def teacher_by_descent(
    blocks: Blocks, y: Floats, *, across: bool, seed: int, n_threads: int, callback: Callback
) -> FMParameters:
    """Fit a teacher by coordinate descent, whose errors differ from those of draws: the mean of both is better."""
    model = FM(_RANK, n_iter=_SWEEPS, tol=0, pairs="across" if across else "all", random_state=seed, n_jobs=n_threads)
    model.set_params(regularization=ridge_by_field(blocks), linear_regularization=_WEIGHT_RIDGE)
    model.fit(blocks, y, callback=callback)
    return FMParameters(model.bias_, model.weights_, model.factors_)


def ridge_by_field(blocks: Blocks) -> dict[str, float]:
    """Return λ of the factors: more where ratings meet in fewer than half the columns of a side's largest field.

    Such columns could take on any length with the λ for many, and spare the other side the penalty. Columns that hardly
    ever meet, as those of what a bot alone has rated, do not make a field large.
    """
    squares, seen, ridge = mean_squares(blocks), blocks.occurring(), {}
    masses = {field: squares[field.start : field.stop][seen[field.start : field.stop]] for field in blocks.fields}
    breadths: dict[str, float] = {}
    for field, mass in masses.items():
        breadths[field.block] = max(_breadth(mass), breadths.get(field.block, 0.0))
    for field, mass in masses.items():
        most = breadths[field.block]
        ridge[f"{field.block}.{field.name}"] = _RIDGE * max(1.0, (float(mass.mean()) if len(mass) else 0.0) * most / 2)
    return ridge


def _breadth(masses: Floats) -> float:
    """Return how many columns there are, at most four times as many as would be if all met equally often."""
    return min(len(masses), 4 * float(masses.sum()) ** 2 / (float(np.sum(masses**2)) or 1.0))


def default_teacher(*, trial: bool, heavy: bool) -> FM:
    """Return the default teacher, by Gibbs sampling, with fewer chains where they cost much, and for a trial."""
    chains = max((_TRIAL_CHAINS if trial else _CHAINS) // (2 if heavy else 1), 1)
    return FM(_RANK, solver="gibbs", n_chains=chains, n_samples=_DRAWS * chains, thin=_KEPT_SWEEPS // _DRAWS)


def teacher_by_draws(
    teacher: FM, blocks: Blocks, y: Floats, *, across: bool, seed: int, callback: Callback
) -> TeacherParameters:
    """Fit a teacher by Gibbs sampling.

    Where all of its draws would be large, they are taken some at a time: each part goes on from the last draws of the
    part before, and only the directions on which the draws so far agree are kept.
    """
    chains, thin, sweeps = teacher.n_chains, teacher.thin, SOLVERS["gibbs"].n_iter
    of_a_chain = each = teacher.n_samples // chains
    a_draw = teacher.rank * blocks.n_features * blocks.dtype.itemsize
    while each * chains * a_draw > _MOST_BYTES and each * chains >= 2 * _WIDTH:  # a part has what is kept of it
        each //= 2
    done, begin, stopped, found = 0, sweeps - thin * of_a_chain, False, None

    def forward(item: Iteration) -> bool:
        nonlocal stopped
        stopped = stopped or bool(callback(replace(item, number=done + item.number, total=sweeps)))
        return stopped

    for part in range(of_a_chain // each):
        n_iter = thin * each + (begin if part == 0 else 0)
        teacher.set_params(n_samples=each * chains, n_iter=n_iter, warm_start=part > 0, random_state=seed + part)
        teacher.fit(blocks, y, callback=forward)
        now = teacher_parameters(teacher, blocks, y, across=across, seed=seed)
        teacher.samples_ = teacher.samples_.last(chains)  # the others are no longer needed, and are large
        teacher.factors_ = teacher.samples_.factors[-1]
        release_memory()
        found = now if found is None else _joined(found, now, 1 / (part + 1), blocks, across=across, seed=seed)
        del now
        done += n_iter
        if stopped:
            break
    assert found is not None
    return found


def _joined(
    one: TeacherParameters, more: TeacherParameters, share: float, blocks: Blocks, *, across: bool, seed: int
) -> TeacherParameters:
    """Return the mean of two parts of the draws, the second with this share, in as many numbers as either has.

    Their factors are overwritten: more arrays of them would be large.
    """
    parts = one.factors, more.factors
    for factors, weight in zip(parts, (1 - share, share), strict=True):
        factors *= np.float32(np.sqrt(weight))
    examples = [_examples(factors, blocks, across=across, seed=seed) for factors in parts]
    ours, size = parts[0].shape[1], parts[0].shape[1] + parts[1].shape[1]
    axes = _axes([np.hstack(pair) for pair in zip(*examples, strict=True)], size, ours).astype(np.float32)
    for begin in range(0, len(parts[0]), _ROWS_AT_ONCE):
        rows = slice(begin, begin + _ROWS_AT_ONCE)
        parts[0][rows, : axes.shape[1]] = multiply(np.hstack([part[rows] for part in parts]), axes)
    parts[0][:, axes.shape[1] :] = 0  # where there are fewer directions
    weights = (1 - share) * one.weights + share * more.weights
    bias, ridge = ((1 - share) * a + share * b for a, b in ((one.bias, more.bias), (one.ridge, more.ridge)))
    return TeacherParameters(parts[0], weights, float(bias), np.asarray(ridge))


def _factors_of(teacher: FM, blocks: Blocks, *, across: bool, seed: int) -> npt.NDArray[np.float32]:
    """Return vectors whose inner products are the teacher's pair terms: with draws, about their mean."""
    factors, n = teacher.factors_, 1
    if hasattr(teacher, "samples_"):
        n = len(teacher.samples_.biases)
        factors = by_feature(teacher.samples_).reshape(len(teacher.weights_), -1)  # side by side; nothing is copied
    with np.errstate(over="ignore", invalid="ignore"):  # codes cannot be fitted to such numbers, and their fit says so
        # The mean of the draws lies mostly in few directions, about as many as a draw has factors.
        width = _WIDTH * factors.shape[1] // n
        if factors.shape[1] > width:
            axes = _main_directions(factors, blocks, width, across=across, seed=seed)
            # Nobody else has these: they are divided in place, as they may be large.
            found = factors = np.asarray(multiply(factors, axes, thread_count(teacher.n_jobs)), np.float32)
        else:
            found = np.empty(factors.shape, np.float32)
        # The quotients are in double precision, but never all of them at once.
        np.divide(factors, np.sqrt(n), out=found, casting="same_kind")
    return found


def _main_directions(factors: Floats, blocks: Blocks, width: int, *, across: bool, seed: int) -> Floats:
    """Return the axes along which rows' vectors (or features', where blocks are not told apart) are largest."""
    examples = _examples(factors, blocks, across=across, seed=seed)
    return np.asarray(_axes(examples, factors.shape[1], width), factors.dtype)


def _examples(factors: Floats, blocks: Blocks, *, across: bool, seed: int) -> list[Floats]:
    """Return some vectors of each side."""
    rng = np.random.default_rng(seed)
    return list(_rows(factors, blocks, rng) if across else _features(factors, blocks, rng))


def _axes(examples: list[Floats], size: int, width: int) -> npt.NDArray[np.float64]:
    """Return the axes along which examples of so many numbers are largest."""
    # The sides count alike: their scales are arbitrary, as only products matter.
    stacked = np.concatenate([np.zeros((0, size)), *(x / (np.sqrt(np.sum(x * x)) or 1.0) for x in examples)])
    if not len(stacked) or not np.isfinite(stacked).all():
        return np.eye(size)[:, :width]
    axes = np.eye(size)
    if len(stacked) < size:
        axes = orthonormal(stacked.T)  # no other direction occurs
        stacked = multiply(stacked, axes)
    _, vectors = eigh(multiply(stacked.T, stacked))
    return multiply(axes, vectors[:, -width:])


def _rows(factors: Floats, blocks: Blocks, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield Σ x v of some rows of each block, as often as interactions use them."""
    first, n = 0, max(1, _EXAMPLES // len(blocks.blocks))
    for block in blocks.blocks.values():
        rows = rng.choice(block.rows, n) if len(block.rows) > n else block.rows
        rows, places = np.unique(rows, return_inverse=True)  # a long one is summed up once
        total = np.zeros((len(rows), factors.shape[1]), factors.dtype)
        for table in block.tables.values():
            values = factors[first : first + table.n_columns]
            total += values[rows] if table.identity else table.take(rows).sums(values)
            first += table.n_columns
        yield total[places]


def _features(factors: Floats, blocks: Blocks, rng: np.random.Generator) -> Iterator[Floats]:
    """Yield the vectors of some features, as often as their values' share of all squares."""
    squares = mean_squares(blocks)
    total = squares.sum()
    if total > 0:
        yield factors[rng.choice(len(squares), _EXAMPLES, p=squares / total)]


def _weight_ridge(teacher: FM, blocks: Blocks, y: Floats) -> npt.NDArray[np.float64]:
    """Return λ of each field's weights: the noise, over the mean square of the teacher's weights there."""
    if hasattr(teacher, "samples_"):
        noise = float(np.mean(1 / teacher.samples_.noise_precisions))
        squares = np.mean(np.square(teacher.samples_.weights, dtype=np.float64), axis=0)
    else:
        noise = float(np.mean((y - teacher.predict(blocks)) ** 2))
        squares = np.square(teacher.weights_, dtype=np.float64)
    seen = blocks.occurring()
    means = [squares[f.start : f.stop][seen[f.start : f.stop]] for f in blocks.fields]
    floor = 1e-6 * max(noise, 1e-300)
    return np.array([noise / max(float(np.mean(m)), floor) if len(m) else 1.0 for m in means])
