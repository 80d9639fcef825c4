"""Users and items as raw features, generated where the published data has none, and an untrained FM of them."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.models import FM, DiscreteFM

from bitfm_research.bench.generated import sparse_rows

__all__ = ["N_WORDS", "WORDS_PER_ITEM", "RawFeatures", "random_fm", "with_words"]

N_WORDS, WORDS_PER_ITEM = 8000, 200
_SPREAD = 0.1  # of an untrained FM's weights and factors


@dataclass(frozen=True)
class RawFeatures:
    """What is known of users and items: a user has an id, an item has an id and perhaps words.

    Examples
    --------
    >>> features = RawFeatures.of(3, 5, words=True, seed=0)
    >>> features.pairs([2, 0]).to_csr().shape
    (10, 8008)
    """

    n_users: int
    n_items: int
    words: sp.csr_matrix | None

    @classmethod
    def of(cls, n_users: int, n_items: int, *, words: bool, seed: int) -> Self:
        """Return ids, and with `words` as many different words per item as the paper's times speak for."""
        return cls(n_users, n_items, _words(n_items, np.random.default_rng(seed)) if words else None)

    @property
    def n_features(self) -> int:
        """Ids and words."""
        return self.n_users + self.n_items + (0 if self.words is None else N_WORDS)

    def users(self, ids: npt.ArrayLike) -> Block:
        """Return some users."""
        return Block(ids, {"id": FeatureTable.eye(self.n_users)})

    def items(self, ids: npt.ArrayLike) -> Block:
        """Return some items."""
        fields: dict[str, Any] = {"id": FeatureTable.eye(self.n_items)}
        return Block(ids, fields if self.words is None else fields | {"words": self.words})

    def pairs(self, users: npt.ArrayLike) -> Blocks:
        """Return each of the users with all items, user by user, as the matrix of all scores has them."""
        ids = np.asarray(users)
        return Blocks(
            user=self.users(np.repeat(ids, self.n_items)),
            item=self.items(np.tile(np.arange(self.n_items), len(ids))),
        )


def with_words(model: DiscreteFM, features: RawFeatures, seed: int) -> DiscreteFM:
    """Return the model with random codes for words, of the same gain, beside its own."""
    rng = np.random.default_rng(seed)
    gain, spread = model.gains_[-1:], float(np.std(model.weights_))
    codes = rng.integers(256, size=(N_WORDS, model.codes_.shape[1]), dtype=np.uint8)
    larger = copy.copy(model)
    larger.codes_ = np.concatenate([model.codes_, codes])
    larger.gains_ = np.concatenate([model.gains_, np.repeat(gain, N_WORDS)])
    larger.weights_ = np.concatenate([model.weights_, rng.normal(0, spread, N_WORDS).astype(model.weights_.dtype)])
    larger.fields_, larger.n_features_in_ = features.pairs([0]).fields, features.n_features
    return larger


def random_fm(features: RawFeatures, rank: int, seed: int, trained: FM | None = None) -> FM:
    """Return an FM with random parameters, in double precision; those of ids are the trained one's, if there is one."""
    rng = np.random.default_rng(seed)
    fm = FM(rank)
    fm.bias_, fm.fields_, fm.n_features_in_ = 3.5, features.pairs([0]).fields, features.n_features
    fm.weights_ = rng.normal(0, _SPREAD, features.n_features)
    fm.factors_ = rng.normal(0, _SPREAD, (features.n_features, rank))
    if trained is not None:
        n = features.n_users + features.n_items
        fm.bias_, fm.weights_[:n], fm.factors_[:n] = trained.bias_, trained.weights_[:n], trained.factors_[:n]
    return fm


def _words(n_items: int, rng: np.random.Generator) -> sp.csr_matrix:
    """Return items × words, one row of length one per item, as TF-IDF has them."""
    apart = N_WORDS // WORDS_PER_ITEM
    columns = np.arange(WORDS_PER_ITEM) * apart + rng.integers(apart, size=(n_items, WORDS_PER_ITEM))  # all different
    x = rng.gamma(2.0, size=(n_items, WORDS_PER_ITEM)).astype(np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    return sparse_rows(columns, x, N_WORDS)
