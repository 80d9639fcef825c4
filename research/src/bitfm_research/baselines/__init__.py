"""What the paper compares with: codes as others published them, popularity, and chance."""

from bitfm_research.baselines.bccf import BCCF
from bitfm_research.baselines.collaborative import CollaborativeHashing
from bitfm_research.baselines.dcf import DCF
from bitfm_research.baselines.dcmf import DCMF
from bitfm_research.baselines.id_codes import IdCodes
from bitfm_research.baselines.lsh import LSH
from bitfm_research.baselines.pph import PPH
from bitfm_research.baselines.rounding import RandomProjection, RotatedRounding, SignRounding
from bitfm_research.baselines.trivial import Popularity, RandomScores

__all__ = [
    "BCCF",
    "DCF",
    "DCMF",
    "LSH",
    "PPH",
    "CollaborativeHashing",
    "IdCodes",
    "Popularity",
    "RandomProjection",
    "RandomScores",
    "RotatedRounding",
    "SignRounding",
]
