"""The models."""

from bitfm.models._codes import CodeModel
from bitfm.models._explain import Explanation, FeatureShare, PairShare
from bitfm.models._progress import Callback, Iteration
from bitfm.models.bias import BiasModel
from bitfm.models.discrete import DiscreteFM
from bitfm.models.distilled import DistilledFM
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
from bitfm.models.popularity import Popularity
from bitfm.models.random_scores import RandomScores
from bitfm.models.solvers.gibbs import Samples

__all__ = [
    "BCCF",
    "DCF",
    "DCMF",
    "FM",
    "PPH",
    "BiasModel",
    "Callback",
    "CodeModel",
    "CollaborativeHashing",
    "DiscreteFM",
    "DistilledFM",
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
]
