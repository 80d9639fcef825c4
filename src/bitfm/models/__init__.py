"""The models, and what authors of others need: the base, registrations of kinds, solvers and losses."""

from bitfm.models.base import register_kind
from bitfm.models.bias import BiasModel
from bitfm.models.codes import CodeModel
from bitfm.models.discrete import DiscreteFM
from bitfm.models.distilled import DistilledFM
from bitfm.models.fm import FM
from bitfm.models.implicit import ImplicitFM
from bitfm.models.progress import Callback, Iteration
from bitfm.models.solvers.gibbs import Samples
from bitfm.models.targets import TargetMoments

__all__ = [
    "FM",
    "BiasModel",
    "Callback",
    "CodeModel",
    "DiscreteFM",
    "DistilledFM",
    "ImplicitFM",
    "Iteration",
    "Samples",
    "TargetMoments",
    "register_kind",
]
