"""Tables in, recommendations out: own ids, own columns, cold start, and changes without a new fit."""

from bitfm.recommender._evaluation import Evaluation
from bitfm.recommender._events.state import EventState
from bitfm.recommender._ratings.state import RatingState
from bitfm.recommender._saving import open_recommender
from bitfm.recommender._state import State
from bitfm.recommender._vectors import Codes, Vectors
from bitfm.recommender.comparison import ModelComparison, compare
from bitfm.recommender.recommender import Recommender
from bitfm.recommender.user_towers import USER_TOWERS, StoredUsers, UserTower

__all__ = [
    "USER_TOWERS",
    "Codes",
    "Evaluation",
    "EventState",
    "ModelComparison",
    "RatingState",
    "Recommender",
    "State",
    "StoredUsers",
    "UserTower",
    "Vectors",
    "compare",
    "open_recommender",
]
