"""A thin, typed face of the native module: designs, trainers and codes, for the models and for model authors."""

from bitfm._core import (
    Design32,
    available_isas,
    distill_field,
    distill_pairs,
    isa,
    libfm_scores,
    logarithm,
    logistic,
    predict_codes,
    predict_reals,
    score_pairs,
    score_pairs_by_records,
    side_vectors,
    single_features,
    softplus,
    use_isa,
)
from bitfm.core.blas import single_blas_thread
from bitfm.core.codes import Delegate, nearest_delegate, pack_signs, unpack_codes
from bitfm.core.design import Design, Trainer, as_reals, make_design, make_trainer
from bitfm.core.linalg import eigh, multiply, orthonormal, solve_positive

__all__ = [
    "Delegate",
    "Design",
    "Design32",
    "Trainer",
    "as_reals",
    "available_isas",
    "distill_field",
    "distill_pairs",
    "eigh",
    "isa",
    "libfm_scores",
    "logarithm",
    "logistic",
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
    "softplus",
    "solve_positive",
    "unpack_codes",
    "use_isa",
]
