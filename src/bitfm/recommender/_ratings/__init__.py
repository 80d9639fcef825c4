"""Recommenders of ratings: codes of all features, distilled or discrete."""
