"""Fits to events: a teacher, codes, neighbours and the choice of settings."""

from bitfm.models.implicit.model import ImplicitFM

__all__ = ["ImplicitFM"]
