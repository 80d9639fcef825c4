"""What ``bitfm demo`` shows: a bookshop, five models side by side, and a recommender at work."""
