"""Hashing for recommendation as others published it: codes learned as codes, or made of real factors afterwards."""

from bitfm.models.hashing.bccf import BCCF
from bitfm.models.hashing.collaborative import CollaborativeHashing
from bitfm.models.hashing.dcf import DCF
from bitfm.models.hashing.dcmf import DCMF
from bitfm.models.hashing.preference import PPH
from bitfm.models.hashing.projection import RandomProjection
from bitfm.models.hashing.rotated import RotatedRounding
from bitfm.models.hashing.rounding import SignRounding

__all__ = ["BCCF", "DCF", "DCMF", "PPH", "CollaborativeHashing", "RandomProjection", "RotatedRounding", "SignRounding"]
