"""A loss that bitfm does not have: one that forgives outliers."""

import numpy as np

from bitfm.models.losses import Working, register_loss


class PseudoHuber:
    """2 (√(1 + r²) − 1): r² for small errors r, and 2 |r| for large ones."""

    def check(self, y):
        """Any number is a target."""

    def start(self, y, weight):
        return float(np.median(y))

    def value(self, y, score):
        return 2 * (np.sqrt(1 + (y - score) ** 2) - 1)

    def working(self, y, score):
        return Working(y - score, 1 / np.sqrt(1 + (y - score) ** 2))  # it is concave in r²

    def inverse_link(self, score):
        return score


register_loss("pseudo-huber", PseudoHuber())
