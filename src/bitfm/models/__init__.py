"""The models."""

from bitfm.models._explain import Explanation, FeatureShare, PairShare
from bitfm.models._gibbs import Samples
from bitfm.models.bias import BiasModel
from bitfm.models.discrete import DiscreteFM
from bitfm.models.fm import FM
from bitfm.models.hashing import (
    BCCF,
    DCF,
    DCMF,
    PPH,
    CollaborativeHashing,
    RandomProjection,
    RotatedRounding,
    SignRounding,
)
from bitfm.models.kinds import register_kind
from bitfm.models.popularity import Popularity
from bitfm.models.progress import Callback, Iteration
from bitfm.models.random_scores import RandomScores

__all__ = [
    "BCCF",
    "DCF",
    "DCMF",
    "FM",
    "PPH",
    "BiasModel",
    "Callback",
    "CollaborativeHashing",
    "DiscreteFM",
    "Explanation",
    "FeatureShare",
    "Iteration",
    "PairShare",
    "Popularity",
    "RandomProjection",
    "RandomScores",
    "RotatedRounding",
    "Samples",
    "SignRounding",
    "register_kind",
]
