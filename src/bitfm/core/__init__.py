"""A thin, typed face of the native module: designs, trainers and codes, for the models and for model authors."""

from bitfm._core import (
    Design32,
    Design64,
    Trainer32,
    Trainer64,
    anchor_field,
    anchor_pairs,
    available_isas,
    isa,
    libfm_scores,
    predict_codes,
    predict_reals,
    score_pairs,
    score_pairs_by_records,
    side_vectors,
    single_features,
    solve_ids,
    use_isa,
)
from bitfm.core.blas import single_blas_thread
from bitfm.core.codes import pack_signs, unpack_codes
from bitfm.core.delegate import Delegate, nearest_delegate
from bitfm.core.design import Design, Trainer, as_reals, make_design, make_trainer
from bitfm.core.linalg import eigh, multiply, orthonormal, solve_positive

__all__ = [
    "Delegate",
    "Design",
    "Design32",
    "Design64",
    "Trainer",
    "Trainer32",
    "Trainer64",
    "anchor_field",
    "anchor_pairs",
    "as_reals",
    "available_isas",
    "eigh",
    "isa",
    "libfm_scores",
    "make_design",
    "make_trainer",
    "multiply",
    "nearest_delegate",
    "orthonormal",
    "pack_signs",
    "predict_codes",
    "predict_reals",
    "score_pairs",
    "score_pairs_by_records",
    "side_vectors",
    "single_blas_thread",
    "single_features",
    "solve_ids",
    "solve_positive",
    "unpack_codes",
    "use_isa",
]
