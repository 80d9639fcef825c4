"""Raw ratings, prepared as the paper does it: averaged, filtered, and with the words of each item's reviews."""

from bitfm.data.prepare.movielens import MovieLens
from bitfm.data.prepare.pipeline import prepare
from bitfm.data.prepare.prepared import Prepared
from bitfm.data.prepare.reviews import AmazonReviews, YelpReviews
from bitfm.data.prepare.source import BadLines, RatingBatch, Source, TextBatch
from bitfm.data.prepare.table import RatingTable

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
