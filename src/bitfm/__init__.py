"""Factorization machines whose feature embeddings are bits."""

from __future__ import annotations

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING
from typing import Any as _Any

if TYPE_CHECKING:
    from bitfm.data.blocks import Block, Blocks, FieldSpan
    from bitfm.errors import (
        BitfmError,
        DataFileError,
        DuplicateRowsError,
        EmptyTableError,
        MissingColumnError,
        MixedIdsError,
        ModelFileError,
        NewerModelFileError,
        NotFittedError,
        TableError,
        UnknownIdError,
        ValueInTableError,
    )
    from bitfm.loading import load
    from bitfm.models import (
        FM,
        BiasModel,
        Callback,
        DiscreteFM,
        DistilledFM,
        Iteration,
        Samples,
    )
    from bitfm.parameters import Explanation, FeatureShare, PairShare
    from bitfm.recommender import Evaluation, Recommender
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
    "DistilledFM",
    "DuplicateRowsError",
    "EmptyTableError",
    "Evaluation",
    "Explanation",
    "FeatureShare",
    "FieldSpan",
    "Index",
    "Iteration",
    "MissingColumnError",
    "MixedIdsError",
    "ModelFileError",
    "NewerModelFileError",
    "NotFittedError",
    "PairShare",
    "Recommender",
    "Samples",
    "TableError",
    "UnknownIdError",
    "ValueInTableError",
    "__version__",
    "load",
]

# Names are fetched when they are first asked for: scikit-learn and SciPy take two seconds to import, and neither a
# command's help nor the completion of its name should wait for them.
_HOMES = {
    "bitfm.data.blocks": ("Block", "Blocks", "FieldSpan"),
    "bitfm.loading": ("load",),
    "bitfm.parameters": ("Explanation", "FeatureShare", "PairShare"),
    "bitfm.recommender": ("Evaluation", "Recommender"),
    "bitfm.retrieval": ("Index",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> _Any:
    if name not in __all__:
        raise AttributeError(f"module 'bitfm' has no attribute {name!r}")
    home = "bitfm.errors" if name.endswith("Error") else _HOME_OF.get(name, "bitfm.models")
    value = globals()[name] = getattr(_import_module(home), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
