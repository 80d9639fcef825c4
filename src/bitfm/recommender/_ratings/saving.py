"""What a file keeps of a recommender of ratings beside its tables."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np

from bitfm import persist
from bitfm.errors import ModelFileError
from bitfm.parameters import CodeParameters, Prior, SideMoments
from bitfm.persist import Tensor, Tensors
from bitfm.recommender._ratings.state import RatingState
from bitfm.recommender._side import SEEN_FIELDS

__all__ = ["RatingEntry", "open_ratings", "pack_ratings"]

_Amount = Annotated[float, msgspec.Meta(ge=0)]
_MOMENTS = {"second_moment": Tensor("float64", "square square", -np.inf)}


class RatingEntry(msgspec.Struct, forbid_unknown_fields=True):
    """Of each side, the noise and the variances of its weights and factors."""

    priors: dict[str, tuple[_Amount, _Amount, _Amount]]


def pack_ratings(state: RatingState, tables: dict[str, Any]) -> RatingEntry:
    """Return what to write, and put tensors to the tables."""
    for name, moments in state.moments.items():
        tables |= persist.put(f"moments.{name}.", {"second_moment": moments.second_moment})
    return RatingEntry(dict(state.priors))


def open_ratings(about: RatingEntry, known: dict[str, Any], tables: Tensors) -> RatingState:
    """Return the state."""
    parameters = known["parameters"]
    if not isinstance(parameters, CodeParameters):
        raise ModelFileError("holds ratings with a model of something else")
    if set(about.priors) != set(SEEN_FIELDS):
        raise ModelFileError("has priors of sides that there are not")
    moments = {}
    for name in SEEN_FIELDS:
        prefix = f"moments.{name}."
        found = persist.below(tables, prefix)
        persist.check_tensors(found, _MOMENTS, {"square": parameters.bits + 2}, prefix=f"tables.{prefix}")
        moments[name] = SideMoments(found["second_moment"])
    return RatingState(**known, priors={name: Prior(*prior) for name, prior in about.priors.items()}, moments=moments)
