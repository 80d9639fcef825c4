"""Every method under one roof: how it is made for a split, a code length and a seed, and which fields it is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bitfm import DistilledFM
from bitfm.models import FM, BiasModel, DiscreteFM

from bitfm_research.baselines import (
    BCCF,
    DCF,
    DCMF,
    LSH,
    PPH,
    CollaborativeHashing,
    Popularity,
    RandomProjection,
    RandomScores,
    RotatedRounding,
    SignRounding,
)
from bitfm_research.bench.datasets import Split
from bitfm_research.bench.measure import WITH_HISTORY
from bitfm_research.bench.tuning import tune_dcmf

__all__ = ["METHODS", "Method"]

Make = Callable[[Split, int, int], Any]  # a model, not fitted, given a split, bits and a seed


@dataclass(frozen=True)
class Method:
    """How to make a model, and what it is given."""

    make: Make
    by_bits: bool = True  # whether there is one for each code length
    fields: tuple[str, ...] = ()  # beside ids; histories and raters are of the training ratings, so all sets have them
    takes_features: bool = False  # whether it is also run with the features of items, where there are any
    random: bool = True  # whether another seed gives another result, so that several have to be run


METHODS: dict[str, Method] = {
    "random": Method(lambda split, bits, seed: RandomScores(random_state=seed), by_bits=False),
    "popularity": Method(lambda split, bits, seed: Popularity(), by_bits=False, random=False),
    "bias only": Method(lambda split, bits, seed: BiasModel(), by_bits=False, random=False),
    "FM, ALS": Method(
        lambda split, bits, seed: FM(
            regularization=30.0, scale_targets=False, early_stopping=True, pairs="across", random_state=seed
        ),
        by_bits=False,
        fields=WITH_HISTORY,
    ),
    "FM, Gibbs": Method(
        lambda split, bits, seed: FM(solver="gibbs", pairs="across", random_state=seed),
        by_bits=False,
        fields=WITH_HISTORY,
    ),
    "FM, SGD": Method(
        lambda split, bits, seed: FM(bits, solver="sgd", scale_targets=False, random_state=seed), takes_features=True
    ),  # with the settings that `libfm` chooses
    "LSH": Method(lambda split, bits, seed: LSH(bits, random_state=seed)),
    "random projection": Method(lambda split, bits, seed: RandomProjection(bits, random_state=seed)),
    "sign rounding": Method(lambda split, bits, seed: SignRounding(bits, random_state=seed)),
    "FM + ITQ": Method(lambda split, bits, seed: RotatedRounding(bits, random_state=seed)),
    "CH": Method(lambda split, bits, seed: CollaborativeHashing(bits, random_state=seed)),
    "PPH": Method(lambda split, bits, seed: PPH(bits, random_state=seed)),
    "BCCF": Method(lambda split, bits, seed: BCCF(bits, random_state=seed)),
    "DCF": Method(lambda split, bits, seed: DCF(bits, random_state=seed)),
    "DCMF": Method(tune_dcmf, fields=WITH_HISTORY, takes_features=True),
    "DCMF, logit": Method(
        lambda split, bits, seed: DCMF(bits, loss="logit", interaction=0.0, random_state=seed),
        fields=WITH_HISTORY,
        takes_features=True,
    ),
    "DFM, without linear terms": Method(
        lambda split, bits, seed: DiscreteFM(bits, linear=False, random_state=seed), takes_features=True
    ),
    "DFM, paper": Method(lambda split, bits, seed: DiscreteFM(bits, random_state=seed), takes_features=True),
    "DFM, distilled": Method(
        lambda split, bits, seed: DistilledFM(bits, random_state=seed), fields=WITH_HISTORY, takes_features=True
    ),
}
