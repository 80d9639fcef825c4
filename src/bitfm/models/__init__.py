"""The models."""

from bitfm.models._explain import Explanation, FeatureShare, PairShare
from bitfm.models._gibbs import Samples
from bitfm.models.bias import BiasModel
from bitfm.models.discrete import DiscreteFM
from bitfm.models.fm import FM
from bitfm.models.kinds import register_kind
from bitfm.models.progress import Callback, Iteration

__all__ = [
    "FM",
    "BiasModel",
    "Callback",
    "DiscreteFM",
    "Explanation",
    "FeatureShare",
    "Iteration",
    "PairShare",
    "Samples",
    "register_kind",
]
