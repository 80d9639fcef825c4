"""Raw ratings, prepared as the paper does it: averaged, filtered, and with the words of each item's reviews."""

from bitfm_research.prepare.movielens import MovieLens
from bitfm_research.prepare.pipeline import prepare
from bitfm_research.prepare.prepared import Prepared
from bitfm_research.prepare.reviews import AmazonReviews, YelpReviews
from bitfm_research.prepare.source import BadLines, RatingBatch, Source, TextBatch
from bitfm_research.prepare.table import RatingTable

__all__ = [
    "AmazonReviews",
    "BadLines",
    "MovieLens",
    "Prepared",
    "RatingBatch",
    "RatingTable",
    "Source",
    "TextBatch",
    "YelpReviews",
    "prepare",
]
