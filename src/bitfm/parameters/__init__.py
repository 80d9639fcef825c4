"""What a fit yields, and what follows from it: scores, towers, explanations, growth and fold-in."""

from bitfm.parameters.code_saving import CodeLayout
from bitfm.parameters.encoding import Encoding, Levels
from bitfm.parameters.event_explanation import explain_event
from bitfm.parameters.event_fold_in import EventWeights, fold_in_events
from bitfm.parameters.event_growth import with_event_items
from bitfm.parameters.event_saving import EventLayout
from bitfm.parameters.explanation import Explanation, FeatureShare, PairShare, explain
from bitfm.parameters.feature_vectors import FeatureVectors
from bitfm.parameters.fold_in import Ids, Prior, Ratings, SideMoments, fold_in, prior_variance
from bitfm.parameters.growth import ids_of, with_all_ids, with_codes, with_ids, without_fields
from bitfm.parameters.implicit import HISTORY, HistoryTower, ImplicitParameters, ItemTower, UserSide
from bitfm.parameters.item_codes import ItemCodes, bits_of_dimensions, nearest_levels
from bitfm.parameters.neighbors import Neighbors
from bitfm.parameters.parameters import CodeParameters, FactorParameters, Parameters
from bitfm.parameters.removal import only_event_features, only_features
from bitfm.parameters.saving import KINDS, LAYOUTS, Layout, ModelRecord, kind_of, pack_model, unpack_model
from bitfm.parameters.steps import Steps
from bitfm.parameters.tower import Tower, TowerRows, towers

__all__ = [
    "HISTORY",
    "KINDS",
    "LAYOUTS",
    "CodeParameters",
    "Encoding",
    "EventWeights",
    "Explanation",
    "FactorParameters",
    "FeatureShare",
    "FeatureVectors",
    "HistoryTower",
    "Ids",
    "ImplicitParameters",
    "ItemCodes",
    "ItemTower",
    "Layout",
    "Levels",
    "ModelRecord",
    "Neighbors",
    "PairShare",
    "Parameters",
    "Prior",
    "Ratings",
    "SideMoments",
    "Steps",
    "Tower",
    "TowerRows",
    "UserSide",
    "bits_of_dimensions",
    "explain",
    "explain_event",
    "fold_in",
    "fold_in_events",
    "ids_of",
    "kind_of",
    "nearest_levels",
    "only_event_features",
    "only_features",
    "pack_model",
    "prior_variance",
    "towers",
    "unpack_model",
    "with_all_ids",
    "with_codes",
    "with_event_items",
    "with_ids",
    "without_fields",
]

LAYOUTS.register("codes", CodeLayout())
LAYOUTS.register("events", EventLayout())
