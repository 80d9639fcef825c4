"""The opponents: each is fitted with a setting, and has a grid of settings to choose from."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp
from bitfm.core import multiply
from bitfm.models.implicit.teacher import fit_teacher
from bitfm.parameters import EventWeights
from bitfm.validation import thread_count
from threadpoolctl import threadpool_limits

from bitfm_research.bench.events import discrete, hashing
from bitfm_research.bench.events.protocol import Scorer, Split, judge

__all__ = ["OPPONENTS", "Opponent", "fit_floats", "tuned"]

Floats = npt.NDArray[np.float32]

_RANK = 128


@dataclass(frozen=True)
class Opponent:
    """A method that ranks items: how it is fitted, with which settings, and how large an item is in it."""

    name: str
    fit: Callable[..., Scorer]
    grid: Sequence[Any] = (None,)
    bytes_per_item: Callable[[Split], float] = lambda _: 4.0 * _RANK
    needs: str | None = None
    slow: bool = False  # and so tuned on the first split alone
    with_more: Callable[[Any], Any] = lambda setting: setting  # what suits all events, by what suits four fifths

    @property
    def available(self) -> bool:
        """Whether what it needs is installed."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None


def tuned(opponent: Opponent, split: Split) -> Any:
    """Return a setting by that which ranks the held-out fifth of the training part best, by NDCG@20."""
    if len(opponent.grid) == 1:
        return opponent.grid[0]
    part = split.for_tuning()
    best = max(opponent.grid, key=lambda setting: judge(part, opponent.fit(part, setting))["NDCG@20"])
    return opponent.with_more(best)


def popularity(split: Split, _: None) -> Scorer:
    """Rank all items by how many have them."""
    sizes = split.train.item_sizes
    return lambda users: np.tile(sizes, (len(users), 1))


def item_knn(split: Split, setting: tuple[int, float]) -> Scorer:
    """Add up the cosines of an item with those of a history, of the k largest per item, shrunk by common users."""
    k, shrink = setting
    X = split.train.by_user.to_csr()
    together = (X.T @ X).tocsr()
    together.setdiag(0)
    together.eliminate_zeros()
    norms = np.sqrt(np.maximum(split.train.item_sizes.astype(np.float64), 1))
    entries = together.tocoo()
    values = entries.data / (norms[entries.row] * norms[entries.col] + shrink)
    order = np.lexsort((-values, entries.col))
    starts = np.searchsorted(entries.col[order], np.arange(X.shape[1]))
    kept = order[np.arange(len(order)) - starts[entries.col[order]] < k]
    shape = together.shape
    similar = sp.csr_matrix((values[kept].astype(np.float32), (entries.row[kept], entries.col[kept])), shape=shape)
    return lambda users: (X[users] @ similar).toarray()


def fit_floats(split: Split, setting: tuple[float, float], rank: int = _RANK) -> tuple[EventWeights, Floats, Floats]:
    """Fit iALS with a regularization and a ratio of unobserved pairs to events."""
    c, ratio = setting
    weights = EventWeights(ratio * split.train.density, c / (1 + ratio))
    teacher = fit_teacher(split.train, weights, rank, 8, split.seed, thread_count(-1))
    return weights, teacher.users, teacher.items


def ials(split: Split, setting: tuple[float, float]) -> Scorer:
    """Score by products of real vectors."""
    _, users, items = fit_floats(split, setting)
    return lambda which: multiply(users[which], items.T, thread_count(-1))


def implicit_als(split: Split, setting: tuple[float, float] | None) -> Scorer:
    """Fit implicit's ALS with a regularization and an alpha, or as it comes."""
    import implicit

    model = implicit.als.AlternatingLeastSquares(random_state=split.seed, num_threads=thread_count(-1))
    X = split.train.by_user.to_csr().copy()  # it wants arrays that it could write to
    if setting is not None:
        regularization, alpha = setting
        model = implicit.als.AlternatingLeastSquares(
            factors=_RANK,
            regularization=regularization,
            alpha=alpha,
            iterations=15,
            random_state=split.seed,
            num_threads=thread_count(-1),
        )
    with threadpool_limits(1, "blas"):
        model.fit(X, show_progress=False)
    return lambda users: model.user_factors[users] @ model.item_factors.T


class Ease:
    """EASE (Steck, 2019): x B with B = I − P diag(P)⁻¹, P = (XᵀX + λ I)⁻¹, for every λ by one eigendecomposition.

    That of the smaller side will do: P = (I − Xᵀ (XXᵀ + λ I)⁻¹ X) / λ.
    """

    def __init__(self, split: Split) -> None:
        self.X = X = split.train.by_user.to_csr().astype(np.float32)
        n_users, n_items = X.shape
        gram = (X.T @ X if n_items <= n_users else X @ X.T).toarray()
        values, vectors = scipy.linalg.eigh(gram.astype(np.float32), driver="evd", overwrite_a=True)
        self.values, vectors = np.maximum(values, 0), np.ascontiguousarray(vectors)
        # Rows: the eigenvectors of XᵀX, those of eigenvalue 0 left out where users are fewer.
        if n_items <= n_users:
            self.rows = vectors.T
        else:
            roots = np.sqrt(np.maximum(self.values, 1e-6))
            self.rows = np.asarray((X.T @ vectors).T / roots[:, None], np.float32)

    def scorer(self, penalty: float) -> Scorer:
        """Return the scores of users."""
        inverse, rest = 1 / (self.values + penalty), 1 / penalty
        shares = (inverse - rest).astype(np.float32)
        diagonal = rest + np.einsum("ki,ki,k->i", self.rows, self.rows, shares)

        def scores(users: npt.NDArray[np.intp]) -> Floats:
            x = self.X[users]
            of_rows = np.asarray((x @ self.rows.T) * shares) @ self.rows + rest * x.toarray()
            return np.asarray(x.toarray() - of_rows / diagonal, np.float32)

        return scores


def ease(split: Split, penalty: float) -> Scorer:
    """Fit EASE with a penalty; that of a split is decomposed once."""
    if getattr(ease, "last", (None,))[0] is not split.train:
        ease.last = (split.train, Ease(split))  # type: ignore[attr-defined]
    return ease.last[1].scorer(penalty)  # type: ignore[attr-defined, no-any-return]


def _pairs(*values: Iterable[float]) -> list[Any]:
    return list(product(*values))


OPPONENTS = [
    Opponent("popularity", popularity, bytes_per_item=lambda _: 4.0),
    Opponent(
        "item kNN",
        item_knn,
        _pairs((20, 50, 100, 200, 400), (0.0, 5.0, 20.0)),
        lambda split: 8.0 * 100,
    ),
    Opponent("implicit ALS as it comes", implicit_als, bytes_per_item=lambda _: 400.0, needs="implicit"),
    Opponent(
        "implicit ALS, 128 factors",
        implicit_als,
        _pairs((1.0, 10.0, 30.0, 100.0, 300.0), (1.0, 4.0, 15.0, 50.0, 150.0, 450.0)),
        needs="implicit",
    ),
    Opponent(
        "iALS, 128 factors",
        ials,
        _pairs((0.05, 0.08, 0.12, 0.18, 0.27, 0.4, 0.6), (2.5, 5.0, 10.0, 20.0)),
        with_more=lambda setting: (0.8 * setting[0], setting[1]),  # as bitfm does: a row's penalty stays the same
    ),
    Opponent(
        "EASE",
        ease,
        [10.0, 20.0, 40.0, 70.0, 100.0, 150.0, 220.0, 330.0, 500.0, 800.0, 1200.0, 2000.0],
        lambda split: 4.0 * split.train.shape[1],
        slow=True,
    ),
    *(
        Opponent(name, fit, discrete.SETTINGS, lambda _: discrete.BITS / 8 + 4, slow=True)
        for name, fit in (
            ("paper's DiscreteFM", discrete.squared),
            ("paper's DiscreteFM, loss bpr", discrete.pairwise),
        )
    ),
    Opponent("DCMF, logit", hashing.logit, hashing.DCMF_SETTINGS, lambda _: discrete.BITS / 8, slow=True),
    Opponent("LSH", hashing.lsh, hashing.LSH_SETTINGS, hashing.lsh_bytes),
]
