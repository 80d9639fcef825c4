"""Losses by name: a new one is a new file that calls `register_loss`."""

from bitfm.models.losses import logistic  # noqa: F401  (it registers itself)
from bitfm.models.losses.loss import LOSSES, Loss, SquaredLoss, Working, register_loss

__all__ = ["LOSSES", "Loss", "SquaredLoss", "Working", "register_loss"]
