"""Factorization machines whose feature embeddings are bits."""

from __future__ import annotations

from bitfm.lazy import lazy_names as _lazy_names

TYPE_CHECKING = False  # typing's takes time to import, in which the command line could not yet take a Ctrl-C
if TYPE_CHECKING:
    from bitfm._version import __version__
    from bitfm.data.blocks import Block, Blocks, FieldSpan
    from bitfm.errors import (
        BitfmError,
        BitfmWarning,
        DataFileError,
        DuplicateRowsError,
        EmptyTableError,
        ForkedProcessError,
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
    from bitfm.models import FM, BiasModel, Callback, DiscreteFM, DistilledFM, ImplicitFM, Iteration, Samples
    from bitfm.parameters import Explanation, FeatureShare, PairShare
    from bitfm.recommender import Evaluation, ModelComparison, Recommender, compare
    from bitfm.retrieval import Index
    from bitfm.tuning import Tuning, tune

__all__ = [
    "FM",
    "BiasModel",
    "BitfmError",
    "BitfmWarning",
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
    "ForkedProcessError",
    "ImplicitFM",
    "Index",
    "Iteration",
    "MissingColumnError",
    "MixedIdsError",
    "ModelComparison",
    "ModelFileError",
    "NewerModelFileError",
    "NotFittedError",
    "PairShare",
    "Recommender",
    "Samples",
    "TableError",
    "Tuning",
    "UnknownIdError",
    "ValueInTableError",
    "__version__",
    "compare",
    "load",
    "tune",
]

# Names are fetched when they are first asked for: scikit-learn and SciPy take two seconds to import, and neither a
# command's help nor the completion of its name should wait for them.
__getattr__, __dir__ = _lazy_names(
    __name__,
    {
        "bitfm.models": __all__,  # all that is not at home in another module
        "bitfm._version": ("__version__",),
        "bitfm.errors": [name for name in __all__ if name.endswith(("Error", "Warning"))],
        "bitfm.data.blocks": ("Block", "Blocks", "FieldSpan"),
        "bitfm.loading": ("load",),
        "bitfm.parameters": ("Explanation", "FeatureShare", "PairShare"),
        "bitfm.recommender": ("Evaluation", "ModelComparison", "Recommender", "compare"),
        "bitfm.retrieval": ("Index",),
        "bitfm.tuning": ("Tuning", "tune"),
    },
)
