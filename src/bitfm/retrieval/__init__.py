"""The best items for a user: exact top-N over a catalogue."""

from bitfm.retrieval.index import Index

__all__ = ["Index"]
