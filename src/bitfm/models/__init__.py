"""The models."""

from bitfm.models._gibbs import Samples
from bitfm.models.base import register_kind
from bitfm.models.bias import BiasModel
from bitfm.models.discrete import DiscreteFM
from bitfm.models.fm import FM
from bitfm.models.progress import Callback, Iteration

__all__ = [
    "FM",
    "BiasModel",
    "Callback",
    "DiscreteFM",
    "Iteration",
    "Samples",
    "register_kind",
]
