"""Hashing for recommendation as published elsewhere: real factors first, codes made of them afterwards."""

from bitfm.models.hashing.bccf import BCCF
from bitfm.models.hashing.collaborative import CollaborativeHashing
from bitfm.models.hashing.preference import PPH
from bitfm.models.hashing.projection import RandomProjection
from bitfm.models.hashing.rotated import RotatedRounding
from bitfm.models.hashing.rounding import SignRounding

__all__ = ["BCCF", "PPH", "CollaborativeHashing", "RandomProjection", "RotatedRounding", "SignRounding"]
