"""Tables in, recommendations out: own ids, own columns, cold start, and changes without a new fit."""

from bitfm.recommender._evaluation import Evaluation
from bitfm.recommender._saving import open_recommender as open
from bitfm.recommender.recommender import Recommender

__all__ = ["Evaluation", "Recommender", "open"]
