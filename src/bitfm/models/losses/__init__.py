"""Losses by name: a new one is a new file that calls `register_loss`."""

from bitfm.models.losses import logistic, squared  # noqa: F401  (they register themselves)
from bitfm.models.losses.loss import LOSSES, Loss, Working, register_loss

__all__ = ["LOSSES", "Loss", "Working", "register_loss"]
