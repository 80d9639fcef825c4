"""How well parameters do on interactions held out: by squared error, and by the order of each user's items."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.data.blocks import Blocks
from bitfm.models.base import Floats
from bitfm.parameters import Parameters

__all__ = ["HeldOutPart", "Verdict"]

_LAGS = 8  # each interaction is compared with as many others of its user


class Verdict(NamedTuple):
    """Of scores: the squared error of each interaction, and each user's share of pairs in the right order."""

    squares: npt.NDArray[np.float64]
    order: npt.NDArray[np.float64]

    @property
    def error(self) -> float:
        """The mean squared error."""
        return float(np.mean(self.squares))

    def saves(self, other: Verdict) -> float:
        """Return how many standard errors the squared error is below the other's."""
        return _standard_errors(other.squares - self.squares)

    def ranks_above(self, other: Verdict) -> float:
        """Return how many standard errors the order is better than the other's."""
        return _standard_errors(self.order - other.order)

    def is_better_than(self, other: Verdict) -> bool:
        """Whether it is better, by a standard error or by two of the order, and not clearly worse in the other."""
        saves, ranks = self.saves(other), self.ranks_above(other)
        return (saves > 1 and ranks > -2) or (ranks > 2 and saves > -1)


@dataclass(frozen=True)
class HeldOutPart:
    """Interactions that nothing was learnt from. Users are the rows of the block ``"user"``, or else of the first."""

    blocks: Blocks
    y: Floats
    n_threads: int

    def scores(self, parameters: Parameters) -> npt.NDArray[np.float64]:
        """Return what parameters predict."""
        return np.asarray(parameters.scores(self.blocks.design(), self.n_threads), np.float64)

    def judge(self, scores: npt.NDArray[np.float64]) -> Verdict:
        """Compare scores with targets."""
        return Verdict((self.y - scores) ** 2, self._order(scores))

    def _order(self, scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return of each user how many pairs of unlike targets are in their order, over as many; ties count half.

        Pairs are those next to each other, up to some places apart, so that a user of very many does not take for ever.
        """
        blocks = self.blocks.blocks
        users = blocks.get("user", next(iter(blocks.values()))).rows
        by_user = np.argsort(users, kind="stable")
        users, y, scores = users[by_user], self.y[by_user], scores[by_user]
        n = int(users.max(initial=-1)) + 1
        right, pairs = np.zeros(n), np.zeros(n)
        for lag in range(1, min(_LAGS, len(y) - 1) + 1):
            told = (users[lag:] == users[:-lag]) & (y[lag:] != y[:-lag])
            agreement = np.sign(y[lag:] - y[:-lag]) * np.sign(scores[lag:] - scores[:-lag])
            right += np.bincount(users[lag:][told], (1 + agreement[told]) / 2, n)
            pairs += np.bincount(users[lag:][told], minlength=n)
        return np.asarray(right[pairs > 0] / pairs[pairs > 0])


def _standard_errors(differences: npt.NDArray[np.float64]) -> float:
    """Return the mean over its standard error; 0 where it cannot be told."""
    if len(differences) < 2:
        return 0.0
    spread = float(differences.std(ddof=1)) / np.sqrt(len(differences))
    return float(differences.mean()) / spread if spread > 0 else 0.0
