"""Tables in, recommendations out: own ids, own columns, cold start, and changes without a new fit."""

from bitfm.recommender._changes import solve_rows
from bitfm.recommender._evaluation import Evaluation
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._saving import open_recommender
from bitfm.recommender._state import State
from bitfm.recommender.recommender import Recommender

__all__ = ["Evaluation", "InteractionMatrix", "Recommender", "State", "open_recommender", "solve_rows"]
