"""Codes of users and items by any loss that has a square above it, and by the products of all pairs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.core import event_scores, multiply, pack_signs, vector_sums
from bitfm.models.base import check_finite
from bitfm.models.progress import Progress
from bitfm.models.solvers.paper import ProximalTarget

from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines._losses import Loss, Single

__all__ = ["BoundedFit", "Ratings", "interaction", "sweep_bits", "sweep_factors"]

_STEPS = 3  # of conjugate gradients for the factors of a row; the next time they go on from there


@dataclass(frozen=True)
class Ratings:
    """The ratings by one side's rows: where each row begins, the other side's row of each, and its number."""

    indptr: npt.NDArray[np.int64]
    others: npt.NDArray[np.int32]
    order: npt.NDArray[np.intp]  # positions among the ratings as given
    n_others: int

    @classmethod
    def of(cls, rows: npt.NDArray[np.int32], others: npt.NDArray[np.int32], n_rows: int, n_others: int) -> Ratings:
        """Sort the ratings by their rows."""
        order = np.lexsort((others, rows))
        indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n_rows))])
        return cls(indptr.astype(np.int64), others[order], order, n_others)

    def take(self, rows: npt.NDArray[np.intp]) -> Ratings:
        """Return some of the rows."""
        at = self.entries(rows)
        indptr = np.concatenate([[0], np.cumsum(self.counts[rows])])
        return Ratings(indptr, self.others[at], self.order[at], self.n_others)

    @cached_property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many ratings each row has."""
        return np.diff(self.indptr)

    def matrix(self, values: Single) -> sp.csr_matrix:
        """Return values in the order of the rows, not copied, as rows × others."""
        return sp.csr_matrix((values, self.others, self.indptr), shape=(len(self.counts), self.n_others), copy=False)

    def entries(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Return the positions of all ratings of some rows, one row after another."""
        counts = self.counts[rows]
        starts = np.repeat(self.indptr[rows] - (np.cumsum(counts) - counts), counts)
        at: npt.NDArray[np.int64] = starts + np.arange(len(starts))
        return at


def sweep_bits(
    codes: Single,
    others: Single,
    ratings: Ratings,
    weights: Single,
    residuals: Single,
    linear: Single,
    strength: float,
    passes: int,
) -> int:
    """Turn bits of all rows, each to the best given the others; return how many turned.

    The objective is Σ w (y − ⟨b, d⟩)² − 2 tr(BᵀM) + ρ tr(BᵀB DᵀD), given w (y − ⟨b, d⟩) as residuals. Rows do not
    depend on each other, so bit t of all of them is one step: it becomes the sign of
    Σ w (y − ⟨b, d⟩) d_t + b_t Σ w + M_t − ρ Σ_{s≠t} b_s (DᵀD)_st. What is 0 stays as it is. A pass goes over all bits;
    a row whose bits have all stayed is settled, so the next pass is of the others.
    """
    gram = np.float32(strength) * multiply(others.T, others)
    np.fill_diagonal(gram, 0)
    columns = np.ascontiguousarray(others.T)
    rows, own, turned = np.arange(len(codes)), codes, 0
    for _ in range(passes):
        flips = _turn(own, columns, ratings, weights, residuals, linear - multiply(own, gram), gram)
        codes[rows] = own
        active = np.flatnonzero(flips)
        turned += int(flips.sum())
        if not len(active):
            break
        at = ratings.entries(active)
        rows, own, linear, ratings = rows[active], own[active], linear[active], ratings.take(active)
        weights, residuals = weights[at], residuals[at]
    return turned


def _turn(
    codes: Single,
    columns: Single,
    ratings: Ratings,
    weights: Single,
    residuals: Single,
    rest: Single,
    gram: Single,
) -> npt.NDArray[np.int64]:
    """Make one pass over the bits, with codes and residuals kept up to date; return how many turned of each row."""
    left, flips = ratings.matrix(residuals), np.zeros(len(codes), np.int64)
    weight = ratings.matrix(weights) @ np.ones(columns.shape[1], np.float32)
    for t, column in enumerate(columns):
        old = codes[:, t]
        wanted = left @ column + old * weight + rest[:, t]
        rows = np.flatnonzero(wanted * old < 0)
        if len(rows):
            steps = -2 * old[rows]
            codes[rows, t] = -old[rows]
            rest[rows] -= steps[:, None] * gram[t]
            at = ratings.entries(rows)
            residuals[at] -= weights[at] * np.repeat(steps, ratings.counts[rows]) * column[ratings.others[at]]
            flips[rows] += 1
    return flips


def sweep_factors(
    factors: Single,
    others: Single,
    ratings: Ratings,
    weights: Single,
    residuals: Single,
    linear: Single,
    strength: float,
    ridge: float,
    n_threads: int,
) -> None:
    """Improve the real factors of all rows by conjugate gradients, each with its own step.

    The objective is Σ w (y − ⟨x, z⟩)² − 2 tr(XᵀM) + r |X|² + ρ tr(XᵀX ZᵀZ): a positive quadratic form of each row.
    """
    gram = np.float32(strength) * multiply(others.T, others, n_threads) + np.float32(ridge) * np.eye(
        others.shape[1], dtype=np.float32
    )
    others = np.ascontiguousarray(others)

    def sums(values: Single) -> Single:
        return vector_sums(ratings.indptr, ratings.others, values, others, n_threads)

    gradient = sums(residuals) + linear - multiply(factors, gram, n_threads)
    direction, squares = gradient.copy(), _squares(gradient)
    for _ in range(_STEPS):
        moved = weights * event_scores(ratings.indptr, ratings.others, weights, direction, others, n_threads)
        image = sums(moved) + multiply(direction, gram, n_threads)
        curvature = np.einsum("ij,ij->i", direction, image)
        step = np.divide(squares, curvature, out=np.zeros_like(squares), where=curvature > 0)
        factors += step[:, None] * direction
        gradient -= step[:, None] * image
        before, squares = squares, _squares(gradient)
        direction *= np.divide(squares, before, out=np.zeros_like(squares), where=before > 0)[:, None]
        direction += gradient


def interaction(users: Single, items: Single) -> float:
    """Return Σ ⟨b_i, d_j⟩² over all pairs of a user and an item: tr(BᵀB DᵀD), without a look at any pair.

    Examples
    --------
    >>> import numpy as np
    >>> interaction(np.eye(2, dtype=np.float32), np.array([[1.0, 2.0]], np.float32))
    5.0
    """
    grams = [multiply(each.T.astype(np.float64), each.astype(np.float64)) for each in (users, items)]
    return float(np.sum(grams[0] * grams[1]))


@dataclass
class BoundedFit:
    """Alternates the users' codes, the items' and what both are drawn to, after the relaxed problem.

    Σ ℓ(⟨b_i, d_j⟩) over the ratings + ρ Σ ⟨b_i, d_j⟩² over all pairs + what the proximal target adds. Before each
    side's turn the loss gives way to the square above it that touches it there, so that no turn raises the objective.
    """

    ratings: IdRatings
    loss: Loss
    strength: float  # ρ
    proximal: ProximalTarget
    rng: np.random.Generator
    progress: Progress
    bits: int
    init_iter: int
    max_iter: int
    inner_iter: int
    relaxed: bool
    tol: float
    threads: int

    def __post_init__(self) -> None:
        given = self.ratings
        self.n = given.n_users
        self.sides = (
            Ratings.of(given.users, given.items, given.n_users, given.n_items),
            Ratings.of(given.items, given.users, given.n_items, given.n_users),
        )
        self._ones = np.ones(len(given.y), np.float32)
        self.codes: npt.NDArray[np.uint8]

    def run(self) -> None:
        """Run both stages; afterwards the codes hold the solution."""
        shape, stopped = (self.n + self.ratings.n_items, self.bits), False
        if self.relaxed:
            values = self.rng.random(shape, np.float32)
            values -= 0.5
            self.proximal.follow(values, self.rng, self.threads)
            stopped = self._alternate("relaxed", values, self.init_iter)
        else:
            values = self.rng.random(shape, np.float32) - np.float32(0.5)
        values = np.where(values >= 0, np.float32(1), np.float32(-1))
        if not stopped:
            if not self.relaxed:
                self.proximal.follow(pack_signs(values), self.rng, self.threads)
            self._alternate("codes", values, self.max_iter)
        self.codes = pack_signs(values)

    def products(self, values: Single) -> Single:
        """Return ⟨b_user, d_item⟩ of each rating, in the order in which they were given."""
        side = self.sides[0]
        parts = values[: self.n], values[self.n :]
        sorted_ = event_scores(side.indptr, side.others, self._ones, *parts, self.threads)
        products = np.empty_like(sorted_)
        products[side.order] = sorted_
        return products

    def _alternate(self, stage: str, values: Single, n_iter: int) -> bool:
        """Improve factors or codes and what they are drawn to in turn; return whether the callback stopped it."""
        ridges, parts = self.proximal.ridges(2), (values[: self.n], values[self.n :])
        products = self.products(values)
        for number in range(1, n_iter + 1):
            flips = 0
            for own, side in enumerate(self.sides):
                weights, residuals = (part[side.order] for part in self.loss.bound(products))
                rows = slice(0, self.n) if own == 0 else slice(self.n, None)
                linear = np.float32(self.proximal.strength) * self.proximal.matrix[rows]
                given = (parts[own], parts[1 - own], side, weights, residuals, linear, self.strength)
                if stage == "relaxed":
                    sweep_factors(*given, float(ridges[own]), self.threads)
                else:
                    flips += sweep_bits(*given, self.inner_iter)
                products = self.products(values)
            self.proximal.follow(values if stage == "relaxed" else pack_signs(values), self.rng, self.threads)
            loss = self.loss.value(products)
            objective = loss + self.strength * interaction(*parts) + self.proximal.penalty
            check_finite(stage, number, objective)
            if self.progress.report(stage, number, n_iter, loss, objective, flips):
                return True
            if self.progress.settled(self.tol):
                break
        return False


def _squares(rows: Single) -> Single:
    squares: Single = np.einsum("ij,ij->i", rows, rows)
    return squares
