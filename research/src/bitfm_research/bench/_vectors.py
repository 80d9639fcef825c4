"""Users and items as other libraries take them: vectors with one more dimension for the items' biases."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from bitfm.models import CodeModel
from bitfm.parameters import ImplicitParameters, towers
from bitfm.retrieval import Index

__all__ = ["ids_as_vectors", "items_as_vectors", "users_as_vectors"]

Reals = npt.NDArray[np.float32]


def ids_as_vectors(model: CodeModel, first_item: int) -> tuple[Reals, Reals]:
    """Return the users and the items of a model of bare ids."""
    vectors = model.parameters_.vectors(np.arange(model.n_features_in_))
    biases = np.asarray(model.weights_[first_item:], np.float32)
    return _with_one(vectors[:first_item]), np.hstack([vectors[first_item:], biases[:, None]])


def users_as_vectors(index: Index, users: Any) -> Reals:
    """Return users as the index sees them."""
    assert not isinstance(index.parameters, ImplicitParameters)
    return _with_one(towers(index.parameters, index.block)[0].rows("users", users, 1).as_vectors())


def items_as_vectors(index: Index) -> Reals:
    """Return the items of an index that was built at once of items with features."""
    held = index.segments[0].items()
    return np.hstack([held.vectors, held.biases[:, None]])[np.argsort(held.positions)]


def _with_one(vectors: Reals) -> Reals:
    return np.hstack([vectors, np.ones((len(vectors), 1), np.float32)])
