"""Recommenders of events: codes of items, with users folded in from their histories."""
