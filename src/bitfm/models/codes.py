"""What a fitted model of codes can do, however its codes were found."""

from __future__ import annotations

import os
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from bitfm import persist
from bitfm.core import nearest_delegate
from bitfm.data.blocks import Blocks, FieldSizes
from bitfm.errors import ModelFileError
from bitfm.models.base import FeatureModel, Floats
from bitfm.models.fm import FM
from bitfm.models.progress import Callback, Progress
from bitfm.parameters import CodeParameters, Explanation, explain, pack_model
from bitfm.persist import Tensors
from bitfm.retrieval import Index, pack_index, score_pairs
from bitfm.validation import thread_count

__all__ = ["CodeModel", "in_single_precision"]


class CodeModel(FeatureModel):
    """A model with a code of bits and a gain for every feature: prediction, search, explanation and saving.

    A subclass has the parameters ``bits``, ``random_state``, ``n_jobs`` and ``verbose``, and a ``_fit(blocks, y,
    progress)`` that sets the first five of the attributes; or else a ``fit`` that sets them all.

    Attributes
    ----------
    codes_ : array of uint8, features × bits / 8
        Bit t is bit t % 8 of byte t // 8; 1 is +1.
    gains_ : array of float32, one per feature
    weights_ : array, one per feature
        Of float32, unless that cannot hold them.
    bias_ : float
    pairs_ : {"all", "across"}
        Which pairs the model has.
    delegate_ : array of float32, features × bits
        D, the balanced and decorrelated matrix nearest to the codes; computed when asked for.
    fit_log_ : list of Iteration
    fields_ : tuple of FieldSpan
    n_features_in_, n_iter_ : int
    """

    bits: int
    n_jobs: int | None
    random_state: Any
    codes_: npt.NDArray[np.uint8]
    gains_: npt.NDArray[np.float32]
    pairs_: str
    saved_index: Index | None = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # codes are made for ratings by features
        return tags

    def fit(self, X: Any, y: Any, *, fields: FieldSizes | None = None, callback: Callback | None = None) -> Self:
        """Learn codes, gains, weights and bias; the parameters are those of `FM.fit`."""
        with self._fitting(callback) as progress:
            for name in ("pairs_", "saved_index"):  # of a fit to other blocks
                self.__dict__.pop(name, None)
            blocks, y, _ = self._training_data(X, y, None, fields)
            self._fit(blocks, y, progress)
        return self

    def _fit(self, blocks: Blocks, y: Floats, progress: Progress) -> None:
        """Set codes, gains, weights, bias and pairs."""
        raise NotImplementedError

    @property
    def delegate_(self) -> npt.NDArray[np.float32]:
        """D, the balanced and decorrelated matrix nearest to the codes."""
        codes, rng = np.asarray(self.parameters_.codes), np.random.default_rng(0)
        return nearest_delegate(codes, rng, n_threads=thread_count(self.n_jobs)).matrix

    def explain(self, x: Any) -> Explanation:
        """Take one row's score apart: the contribution of every feature and of every pair.

        `x` are Blocks of one interaction, a sparse or dense matrix of one row, or a one-dimensional array.
        """
        check_is_fitted(self)
        if not isinstance(x, Blocks) and getattr(x, "ndim", 2) == 1:
            x = np.asarray(x)[None, :]
        blocks = self._prediction_blocks(x)
        if len(blocks) != 1:
            raise ValueError(f"explain takes one interaction, got {len(blocks)}; pass X[i].")
        return explain(self.parameters_, blocks)

    def index(
        self, items: Any = None, *, block: str | None = None, mode: str = "exact", bits: int = 64, rescore: int = 50
    ) -> Index:
        """Lay out items for a search of the best for a user, exact by default.

        Parameters
        ----------
        items : Block, or array of int where items are bare ids, optional
            One item per interaction. By default the index that was saved with the model, or else all items that the
            model was fitted on, where these are bare ids.
        block : str, optional
            Which of the model's blocks the items are; by default ``"item"``, or else the last. All others are the
            queries: the users, and the context.
        mode : {"exact", "codes", "auto"}, default "exact"
            For items with several features, each of which is a vector. ``"codes"`` gives each a code of its own to find
            candidates by, which are then scored exactly: at a million items more than twice as fast for many queries
            at once, six times for one, and a few of the best are missed. ``"auto"`` does so from 100,000 items on.
            Items with a single feature are codes as they are, and every search of them is exact.
        bits : int, default 64
            Length of the row codes of ``mode="codes"``.
        rescore : int, default 50
            How many candidates are scored for the best ten; for more, as many more.
        """
        if items is None and self.saved_index is not None and block in (None, self.saved_index.block):
            return self.saved_index
        return Index(self.parameters_, items, block, mode=mode, bits=bits, rescore=rescore)

    def save(self, path: str | os.PathLike[str], *, index: Index | None = None) -> None:
        """Write the fitted model to a file, atomically; see `bitfm.load`.

        Parameters
        ----------
        path : the file to create or replace
        index : Index, optional
            An index of this model to keep in the file: ``bitfm.load(path).index()`` opens it by memory map.
        """
        tensors, metadata = pack_model(self.record(), self.parameters_)
        if index is not None:
            if not isinstance(index.parameters, CodeParameters) or index.parameters.codes is not self.codes_:
                raise ValueError("save: the index is of another model, or of another fit; make one with index().")
            more, about = pack_index(index)
            tensors, metadata = tensors | more, metadata | about
        persist.write(path, tensors, metadata)

    def predict_pairs(self, users: Any, items: Any, *, block: str | None = None) -> npt.NDArray[np.float64]:
        """Score pairs of users and items, straight from the features of each.

        The scores are those of `predict` in single precision. Where there are many pairs of few users and items, which
        then need not be worked out again for each pair, `predict` is faster.

        Parameters
        ----------
        users : Blocks, Block or array of int
            As for `Index.search`: one per interaction, context included.
        items : Block or array of int
            As for `index`: as many as there are users.
        block : str, optional
            Which of the model's blocks the items are; by default ``"item"``, or else the last.

        Notes
        -----
        After as many features as the model has, a copy of codes, gains and weights is kept side by side for speed, and
        they become read-only; to change them, set others. Writes to a view that was taken before go unnoticed.
        """
        return score_pairs(self.parameters_, users, items, block, n_threads=thread_count(self.n_jobs))

    def to_float(self) -> FM:
        """Return an `FM` with the same predictions: its factors are gain × code."""
        vectors = self.parameters_.vectors(np.arange(self.parameters_.n_features))
        fm = FM(rank=self.bits, pairs=self.pairs_, n_jobs=self.n_jobs)
        fm.factors_ = vectors
        fm.weights_, fm.bias_ = np.array(self.weights_), self.bias_
        fm.fields_, fm.n_features_in_ = self.fields_, self.n_features_in_
        fm.fit_log_, fm.n_iter_ = [], 0
        return fm

    def _kept(self) -> tuple[str, Tensors]:
        self._check_unchanged("bits", self.codes_.shape[1] * 8)
        return "codes", {}

    def _restore(self, parameters: Any, extra: Tensors) -> None:
        if not isinstance(parameters, CodeParameters) or parameters.bits != self.bits:
            raise ModelFileError(f"has parameters that a {type(self).__name__} of {self.bits} bits does not have")
        self.codes_, self.gains_, self.pairs_ = parameters.codes, parameters.gains, parameters.pairs

    @property
    def parameters_(self) -> CodeParameters:
        """What the fit yielded, as one frozen value."""
        return cast(CodeParameters, super().parameters_)

    def _parameters(self) -> CodeParameters:
        return CodeParameters(self.fields_, self.bias_, self.weights_, self.codes_, self.gains_, self.pairs_)


def in_single_precision(weights: Floats) -> Floats:
    """Return weights in single precision, unless it cannot hold them."""
    most = float(np.abs(weights).max(initial=0))
    return weights.astype(np.float32, copy=False) if most == 0 or 1e-30 < most < 1e30 else weights
