"""A factorization machine for events: implicit feedback."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bitfm.core import multiply
from bitfm.models.implicit.choice import EventSettings, choose_settings
from bitfm.models.implicit.encoder import encode_items
from bitfm.models.implicit.events import Events
from bitfm.models.implicit.neighbors import learn_neighbors
from bitfm.models.implicit.teacher import fit_teacher, own_axes
from bitfm.models.progress import Callback, Progress
from bitfm.parameters import ImplicitParameters
from bitfm.retrieval import Index
from bitfm.validation import check_bits, check_integer, thread_count

__all__ = ["ImplicitFM"]

_RANK = 128


@dataclass(eq=False, repr=False)
class ImplicitFM(BaseEstimator):  # type: ignore[misc]
    """Ranks items by events, such as purchases, clicks or plays: codes of bits, and a few neighbours per item.

    A real-valued teacher is fitted by alternating least squares over the events and all pairs without one. The items'
    vectors become codes. What these leave over of the events is learnt by up to ``n_neighbors`` neighbours per item.
    Users are not kept: a user's vector is worked out from their history when it is asked for.

    Parameters
    ----------
    bits : int, default 128
        Length of an item's code: a multiple of 8 from 8 to 512.
    n_neighbors : int, default 8
        How many neighbours an item has at most, from 0 to 64.
    tune : bool, default True
        Whether to choose regularization and the weights of neighbours by how a held-out fifth of events is ranked.
    n_iter : int, default 8
        Sweeps of the teacher over users and items.
    random_state : int, default 0
    n_jobs : int, default -1
        Threads; -1 is all. The result does not depend on it.
    verbose : int, default 0

    Attributes
    ----------
    parameters_ : ImplicitParameters
    settings_ : EventSettings
        What was chosen.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from bitfm.models.implicit import ImplicitFM
    >>> events = sp.random(200, 100, density=0.1, random_state=0, data_rvs=np.ones)
    >>> model = ImplicitFM(bits=32).fit(events)
    >>> items, scores = model.recommend(events.tocsr()[:3], n=5)
    >>> items.shape
    (3, 5)
    """

    bits: int = 128
    _: KW_ONLY
    n_neighbors: int = 8
    tune: bool = True
    n_iter: int = 8
    random_state: Any = 0
    n_jobs: int | None = -1
    verbose: int = 0

    def fit(self, X: Any, y: Any = None, *, callback: Callback | None = None) -> Self:
        """Learn from events.

        Parameters
        ----------
        X : sparse matrix, users × items
            How much each event counts; below 0 it is a dislike, which counts against the item.
        y : ignored
        callback : called with an `Iteration` after each; returning True stops what it is about
        """
        bits, n_neighbors = check_bits(self.bits), check_integer("n_neighbors", self.n_neighbors, 0, 64)
        n_iter, threads = check_integer("n_iter", self.n_iter, 1, 1000), thread_count(self.n_jobs)
        seed, progress = int(check_random_state(self.random_state).randint(2**31)), Progress(self.verbose, callback)
        events = Events.of(X)
        if not (events.by_user.values > 0).any():
            raise ValueError("X: expected at least one event that counts for its item, a value above 0; there is none.")
        rank, settings = min(bits, _RANK), EventSettings()
        if self.tune:
            settings = choose_settings(
                events,
                bits,
                n_neighbors,
                rank,
                n_iter,
                (None, None),
                seed,
                threads,
                lambda stage, number, total, quality: progress.report(stage, number, total, 1 - quality, 1 - quality),
            )
        weights = settings.weights(events)
        teacher = fit_teacher(events, weights, rank, n_iter, seed, threads)
        codes = encode_items(events, teacher.users, teacher.items, weights, bits, seed, threads)
        gram, axes = own_axes(codes.vectors(n_threads=threads), threads)
        codes = replace(codes, decoder=multiply(codes.decoder, axes))
        neighbors, users = learn_neighbors(
            events, codes.vectors(n_threads=threads), gram, weights, n_neighbors, settings.neighbors, None, threads
        )
        observed = events.user_sizes > 0
        mean = users[observed].mean(axis=0, dtype=np.float64).astype(np.float32)
        n_observed = int((events.item_sizes > 0).sum())
        self.parameters_ = ImplicitParameters(codes, gram, neighbors, weights, n_observed, mean)
        self.settings_, self.fit_log_ = settings, progress.history
        return self

    def index(self) -> Index:
        """Return an index of the items, whose queries are histories."""
        check_is_fitted(self)
        return Index(self.parameters_)

    def recommend(self, histories: Any, n: int = 10, *, seen: bool = False) -> tuple[Any, Any]:
        """Return the best n items for histories, users × items, and their scores.

        What a history holds is left out unless `seen`.
        """
        return self.index().search(histories, n, exclude=None if seen else histories, n_jobs=self.n_jobs)
