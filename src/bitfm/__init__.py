"""Factorization machines whose feature embeddings are bits."""

from importlib.metadata import version as _version

from bitfm.data.blocks import Block, Blocks, FieldSpan
from bitfm.errors import BitfmError, DataFileError, ModelFileError
from bitfm.models import (
    FM,
    BiasModel,
    Callback,
    DiscreteFM,
    Explanation,
    FeatureShare,
    Iteration,
    PairShare,
    Samples,
)
from bitfm.models._saving import load
from bitfm.retrieval import Index

__version__ = _version("bitfm")

__all__ = [
    "FM",
    "BiasModel",
    "BitfmError",
    "Block",
    "Blocks",
    "Callback",
    "DataFileError",
    "DiscreteFM",
    "Explanation",
    "FeatureShare",
    "FieldSpan",
    "Index",
    "Iteration",
    "ModelFileError",
    "PairShare",
    "Samples",
    "__version__",
    "load",
]
