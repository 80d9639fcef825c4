"""What the paper compares with: codes as others published them, popularity, and chance."""

from bitfm_research.baselines.bccf import BCCF
from bitfm_research.baselines.collaborative import CollaborativeHashing
from bitfm_research.baselines.dcf import DCF
from bitfm_research.baselines.dcmf import DCMF
from bitfm_research.baselines.popularity import Popularity
from bitfm_research.baselines.preference import PPH
from bitfm_research.baselines.projection import RandomProjection
from bitfm_research.baselines.random_scores import RandomScores
from bitfm_research.baselines.rotated import RotatedRounding
from bitfm_research.baselines.rounding import SignRounding

__all__ = [
    "BCCF",
    "DCF",
    "DCMF",
    "PPH",
    "CollaborativeHashing",
    "Popularity",
    "RandomProjection",
    "RandomScores",
    "RotatedRounding",
    "SignRounding",
]
