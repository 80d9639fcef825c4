"""A factorization machine for events: implicit feedback."""

from __future__ import annotations

import os
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from bitfm import persist
from bitfm.errors import ModelFileError
from bitfm.models._settings import plain_settings, settings_of
from bitfm.models.base import iteration_of
from bitfm.models.implicit.choice import choose_settings
from bitfm.models.implicit.data import EventData
from bitfm.models.implicit.fit import EventFit, EventSettings
from bitfm.models.progress import Callback, Progress
from bitfm.parameters import ImplicitParameters, ModelRecord, pack_model
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
    bits : int, default 256
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
        What was chosen; a file does not keep it.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from bitfm import ImplicitFM
    >>> events = sp.random(200, 100, density=0.1, random_state=0, data_rvs=np.ones)
    >>> model = ImplicitFM(bits=32).fit(events)
    >>> items, scores = model.recommend(events.tocsr()[:3], n=5)
    >>> items.shape
    (3, 5)
    """

    bits: int = 256
    _: KW_ONLY
    n_neighbors: int = 8
    tune: bool = True
    n_iter: int = 8
    random_state: Any = 0
    n_jobs: int | None = -1
    verbose: int = 0

    unsaved: ClassVar[tuple[str, ...]] = ()

    def fit(self, X: Any, y: Any = None, *, callback: Callback | None = None) -> Self:
        """Learn from events.

        Parameters
        ----------
        X : sparse matrix, users × items; or Blocks
            A matrix holds how much each event counts; below 0 it is a dislike, which counts against the item. Of
            Blocks, every interaction is an event. The rows of the block ``user``, or the first, are the users; those of
            ``item``, or the last, are the items. Their fields are features, but for identities, which are ids. All
            other blocks are contexts.
        y : array, one per interaction, optional
            With Blocks: how much each event counts; below 0 it is a dislike. By default 1.
        callback : called with an `Iteration` after each; returning True stops what it is about
        """
        bits, n_neighbors = check_bits(self.bits), check_integer("n_neighbors", self.n_neighbors, 0, 64)
        n_iter, threads = check_integer("n_iter", self.n_iter, 1, 1000), thread_count(self.n_jobs)
        seed, progress = int(check_random_state(self.random_state).randint(2**31)), Progress(self.verbose, callback)
        data = EventData.of(X, y)
        if not (data.events.by_user.values > 0).any():
            raise ValueError("X: expected at least one event that counts for its item, a value above 0; there is none.")
        fit = EventFit(data, bits, n_neighbors, min(bits, _RANK), n_iter, seed, threads)
        settings = choose_settings(fit, progress) if self.tune else EventSettings()
        self.parameters_ = fit.parameters(settings)
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file, atomically; see `bitfm.load`."""
        persist.write(path, *pack_model(self.record(), self.parameters_))

    def record(self) -> ModelRecord:
        """Return what a file keeps of the model beside its parameters."""
        check_is_fitted(self)
        log = [{k: v for k, v in asdict(item).items() if k != "seconds"} for item in self.fit_log_]
        return ModelRecord(type(self).__name__, plain_settings(self), log, "events")

    @classmethod
    def from_record(cls, record: ModelRecord, parameters: Any, index: Any = None) -> Self:
        """Return the fitted model of what a file keeps."""
        if not isinstance(parameters, ImplicitParameters) or record.extra:
            raise ModelFileError("has parameters that an ImplicitFM does not have")
        model = cls(**settings_of(cls, record.settings))
        if model.n_jobs == 0:
            raise ModelFileError("has n_jobs = 0, expected any other whole number")
        model.parameters_, model.fit_log_ = parameters, [iteration_of(item) for item in record.fit_log]
        return model
