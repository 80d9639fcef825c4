"""Preference preserving hashing: factors of constant length, coded by their phases and magnitudes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from bitfm.models.base import Floats, check_finite
from bitfm.models.progress import Progress
from bitfm.validation import check_integer, check_real

from bitfm_research.baselines._columns import Factorization
from bitfm_research.baselines._ids import IdRatings
from bitfm_research.baselines.id_codes import IdCodes, PackedCodes

__all__ = ["PPH", "length_column", "phase_codes", "sector_codes"]


@dataclass(eq=False, repr=False, kw_only=True)
class PPH(IdCodes):
    """Preference preserving hashing of Zhang, Wang, Ruan and He (SIGIR 2014).

    Two stages. The first is a matrix factorisation whose factors are pulled to one length, so that preferences are told
    by angles, which codes can keep: min Σ (r − ⟨p_i, q_j⟩)² + λ Σ (‖p_i‖² − c)² + λ Σ (‖q_j‖² − c)². Ratings are
    centred on the middle of their range and c is half of it, so that inner products span that range. The second takes
    the factors two by two as points of a plane. Phase bits say in which of 2 · `phase_bits` sectors a point lies, coded
    so that the Hamming distance of two points is the distance of their sectors on the circle; one more bit says whether
    it is farther from the origin than half of the users and items are.

    Its `fit_log_` has the stage ``"relaxed"``.

    Parameters
    ----------
    bits, random_state, n_jobs, verbose
        As of `IdCodes`.
    phase_bits : {1, 3, 7}, default 3
        Bits for the phase of two factors, beside one for the magnitude. So there are 2 · bits / (phase_bits + 1)
        factors.
    length : float, default 30.0
        λ: how strongly factors are pulled to their length. Ratings are scaled to [−1, 1], so that c is 1.
    n_iter : int, default 10
        Sweeps over the factors at most.
    tol : float, default 1e-4
        Stop when a sweep lowers the objective by less than this share.

    Examples
    --------
    >>> from bitfm_research.baselines import PPH
    >>> X = [[1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 1, 0, 1]]  # two users, two items
    >>> model = PPH(bits=64).fit(X, [5, 1, 1, 5], fields=[2, 2])
    >>> model.predict(X).round()
    array([5., 1., 1., 5.])
    """

    phase_bits: int = 3
    length: float = 30.0
    n_iter: int = 10
    tol: float = 1e-4

    def _learn(self, ratings: IdRatings, rng: np.random.Generator, progress: Progress) -> PackedCodes:
        if check_integer("phase_bits", self.phase_bits, 1, 7) not in (1, 3, 7):
            raise ValueError(f"phase_bits must be 1, 3 or 7, so that codes fill bytes, got {self.phase_bits}.")
        rank = 2 * self.bits // (self.phase_bits + 1)
        return phase_codes(self._factors(ratings, rank, rng, progress), self.phase_bits)

    def _factors(self, ratings: IdRatings, rank: int, rng: np.random.Generator, progress: Progress) -> Floats:
        """Return the factors, users over items."""
        length = check_real("length", self.length, above=True)
        n_iter, tol = check_integer("n_iter", self.n_iter, 1), check_real("tol", self.tol)
        start = rng.standard_normal((rank, ratings.n_users + ratings.n_items)) / np.sqrt(rank)
        P, Q = start[:, : ratings.n_users].copy(), start[:, ratings.n_users :].copy()
        factorization = Factorization(ratings, ratings.scaled(-1, 1), P, Q)
        of_users, of_items = LengthRule(P, length), LengthRule(Q, length)
        for number in range(1, n_iter + 1):
            factorization.sweep(of_users, of_items)
            loss = factorization.loss()
            objective = loss + of_users.penalty() + of_items.penalty()
            check_finite("relaxed", number, objective)
            if progress.report("relaxed", number, n_iter, loss, objective) or progress.settled(tol):
                break
        return np.hstack([P, Q]).T


class LengthRule:
    """The best values of one factor given the others of the same side, whose squares it keeps the sum of."""

    def __init__(self, factors: Floats, weight: float) -> None:
        self._squares = np.sum(factors * factors, axis=0)
        self._weight = weight

    def __call__(self, num: Floats, den: Floats, old: Floats) -> Floats:
        others = self._squares - old * old
        new = length_column(num, den, others, old, self._weight)
        self._squares = others + new * new
        return new

    def penalty(self) -> float:
        """Return λ Σ (‖v‖² − 1)²."""
        return self._weight * float(np.sum((self._squares - 1) ** 2))


def length_column(num: Floats, den: Floats, others: Floats, old: Floats, weight: float) -> Floats:
    """Return argmin den v² − 2 num v + weight (v² + others − 1)², row by row.

    The derivative is 0 where v³ + a v = b with a = den / (2 weight) + others − 1 and b = num / (2 weight). Of up to
    three roots the one farthest from 0 on b's side is the minimum; where b is 0, v and −v are alike, and v keeps its
    side.
    """
    a, b = den / (2 * weight) + others - 1, num / (2 * weight)
    half = np.sqrt(np.abs(a) / 3)
    side = np.where(b != 0, np.sign(b), np.where(old >= 0, 1.0, -1.0))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.abs(b) / (2 * half**3)  # of the cubic in units of 2 · half
        one_root = np.sinh(np.arcsinh(ratio) / 3)
        some_roots = np.where(
            ratio > 1, np.cosh(np.arccosh(np.maximum(ratio, 1)) / 3), np.cos(np.arccos(np.minimum(ratio, 1)) / 3)
        )
        v = 2 * half * np.where(a > 0, one_root, some_roots)
    return side * np.where(np.isfinite(v) & (half > 0), v, np.cbrt(np.abs(b)))


def sector_codes(n_bits: int) -> npt.NDArray[np.bool_]:
    """Return codes of 2 · n_bits sectors of a circle, sectors × bits, as far from each other as the sectors are.

    They are Johnson's counter: the ones enter at one end until the code is full of them, and then leave.

    Examples
    --------
    >>> sector_codes(2).astype(int)
    array([[0, 0],
           [1, 0],
           [1, 1],
           [0, 1]])
    """
    sector, bit = np.arange(2 * n_bits)[:, None], np.arange(n_bits)
    return (bit < sector) & (bit >= sector - n_bits)


def phase_codes(factors: Floats, phase_bits: int) -> npt.NDArray[np.uint8]:
    """Return packed codes, given a row of factors each: two by two, bits of the phase and one of the magnitude."""
    pairs = factors.reshape(len(factors), -1, 2)
    phase = np.arctan2(pairs[..., 1], pairs[..., 0]) % (2 * np.pi)
    n_sectors = 2 * phase_bits
    sector = np.minimum((phase * (n_sectors / (2 * np.pi))).astype(np.intp), n_sectors - 1)
    magnitude = np.hypot(pairs[..., 0], pairs[..., 1])
    far = magnitude > np.median(magnitude, axis=0)
    bits = np.concatenate([sector_codes(phase_bits)[sector], far[..., None]], axis=2)
    return np.packbits(bits.reshape(len(factors), -1), axis=1, bitorder="little")
