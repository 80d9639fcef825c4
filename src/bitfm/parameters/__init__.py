"""What a fit yields, and what follows from it: scores, towers, explanations, growth and fold-in."""

from bitfm.parameters.event_fold_in import EventWeights, fold_in_events
from bitfm.parameters.explanation import Explanation, FeatureShare, PairShare, explain
from bitfm.parameters.fold_in import Ids, Prior, Ratings, SideMoments, fold_in, prior_variance
from bitfm.parameters.growth import ids_of, with_all_ids, with_codes, with_ids, without_fields
from bitfm.parameters.implicit import HistoryTower, ImplicitParameters, ItemTower
from bitfm.parameters.item_codes import ItemCodes, bits_of_dimensions, nearest_levels, to_steps
from bitfm.parameters.neighbors import Neighbors
from bitfm.parameters.parameters import CodeParameters, FactorParameters, Parameters
from bitfm.parameters.saving import KINDS, LAYOUTS, Layout, ModelRecord, kind_of, pack_model, unpack_model
from bitfm.parameters.tower import Tower, TowerRows, towers

__all__ = [
    "KINDS",
    "LAYOUTS",
    "CodeParameters",
    "EventWeights",
    "Explanation",
    "FactorParameters",
    "FeatureShare",
    "HistoryTower",
    "Ids",
    "ImplicitParameters",
    "ItemCodes",
    "ItemTower",
    "Layout",
    "ModelRecord",
    "Neighbors",
    "PairShare",
    "Parameters",
    "Prior",
    "Ratings",
    "SideMoments",
    "Tower",
    "TowerRows",
    "bits_of_dimensions",
    "explain",
    "fold_in",
    "fold_in_events",
    "ids_of",
    "kind_of",
    "nearest_levels",
    "pack_model",
    "prior_variance",
    "to_steps",
    "towers",
    "unpack_model",
    "with_all_ids",
    "with_codes",
    "with_ids",
    "without_fields",
]
