"""What a fit yields, and what follows from it: scores, towers, explanations, growth and fold-in."""

from bitfm.parameters.explanation import Explanation, FeatureShare, PairShare, explain
from bitfm.parameters.fold_in import Ids, Prior, Ratings, SideMoments, fold_in, prior_variance
from bitfm.parameters.growth import ids_of, with_all_ids, with_codes, with_ids, without_fields
from bitfm.parameters.parameters import CodeParameters, FactorParameters, Parameters
from bitfm.parameters.saving import KINDS, LAYOUTS, Layout, ModelRecord, kind_of, pack_model, unpack_model
from bitfm.parameters.tower import Tower, TowerRows, towers

__all__ = [
    "KINDS",
    "LAYOUTS",
    "CodeParameters",
    "Explanation",
    "FactorParameters",
    "FeatureShare",
    "Ids",
    "Layout",
    "ModelRecord",
    "PairShare",
    "Parameters",
    "Prior",
    "Ratings",
    "SideMoments",
    "Tower",
    "TowerRows",
    "explain",
    "fold_in",
    "ids_of",
    "kind_of",
    "pack_model",
    "prior_variance",
    "towers",
    "unpack_model",
    "with_all_ids",
    "with_codes",
    "with_ids",
    "without_fields",
]
