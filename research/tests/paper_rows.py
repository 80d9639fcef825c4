"""Rows of measures as a whole run would leave them, generated: plausible, and by no means results."""

import math

from bitfm_research.paper.names import (
    BITS,
    FEATURES,
    LEVELS,
    PARTS,
    PUBLISHED_AMAZON,
    SIZES,
    WITH_BITS,
    WITH_FEATURES,
    WITH_IDS,
)
from bitfm_research.paper.results import Measure

SHAPE = [value - PUBLISHED_AMAZON[9] for value in PUBLISHED_AMAZON]
TOP = {"yelp": 0.812, "amazon": 0.868, "ml-1m": 0.8, "douban": 0.9}
BELOW = {
    "random": 0.07, "popularity": 0.045, "bias only": 0, "FM, ALS": -0.0005, "FM, Gibbs": -0.0015, "FM, SGD": 0.001,
    "random projection": 0.06, "sign rounding": 0.032, "FM + ITQ": 0.026, "CH": 0.036, "PPH": 0.029, "BCCF": 0.023,
    "LSH": 0.002, "DCF": 0.018, "DCMF": 0.015, "DCMF, logit": 0.02, "DFM, paper": 0.009, "DFM, distilled": -0.0012,
    "DFM, linear part alone": 0.004, "DFM, codes alone": 0.066, "DFM, without linear terms": 0.0175,
}  # fmt: skip
GIVEN_FEATURES = ("FM, SGD", "DCMF", "DCMF, logit", "DFM, paper", "DFM, distilled")
VALUES = (0, 1e-4, 1e-3, 1e-2, 1e-1, 1, 10, 100)


def of_method(dataset, method, bits, last):
    yield from (Measure(dataset, method, bits, 0, "NDCG", k, last + SHAPE[k - 1]) for k in range(1, 11))
    yield Measure(dataset, method, bits, 0, "NDCG low", 10, last - 0.002)
    yield Measure(dataset, method, bits, 0, "NDCG high", 10, last + 0.002)
    yield Measure(dataset, method, bits, 0, "RMSE", None, 1.8 - last)
    yield Measure(dataset, method, bits, 0, "seconds", None, 1.5)


def figure_1():
    for dataset in (*WITH_IDS, *WITH_FEATURES):
        for method in LEVELS:
            yield from of_method(dataset, method, None, TOP[dataset] - BELOW[method])
        for method in WITH_BITS:
            for bits in BITS:
                last = TOP[dataset] - min(BELOW[method] * (1 + 0.3 * math.log2(64 / bits)), 0.068)
                yield from of_method(dataset, method, bits, last)
                if dataset in WITH_FEATURES and method in (*GIVEN_FEATURES, *PARTS):
                    yield from of_method(dataset, method + FEATURES, bits, last + 0.004)


def figure_2():
    for dataset in WITH_IDS:
        for i, value in enumerate(VALUES):
            beta = TOP[dataset] - 0.012 - 0.002 * abs(i - 4)
            l2 = TOP[dataset] - 0.001 - 0.003 * (i - 5) ** 2 / 2
            yield Measure(dataset, f"DFM, paper; beta={value:g}", 64, 0, "NDCG", 10, beta)
            yield Measure(dataset, f"FM, SGD; l2={value:g}", 64, 0, "NDCG", 10, l2)


def table_1():
    seconds = {
        "FM; libFM loop": 1.1e-8, "FM; float32 pairs": 4e-9, "FM; matrix product": 1.2e-10,
        "FM; product and best 10": 1.5e-10, "DFM, paper; pairs": 8e-10, "DFM, paper; pairs across": 7e-10,
        "DFM, paper; retrieval": 1e-11,
    }  # fmt: skip
    for dataset, (users, items) in SIZES.items():
        for what, factor in (("ids", 1), ("ids and words", 60)):
            for method, one in seconds.items():
                for bits in BITS if what != "ids" or "across" not in method else ():
                    flat = method.endswith("retrieval")
                    time = users * items * one * (1 if flat else factor * bits / 8)
                    yield Measure(dataset, method, bits, 0, f"TTC, {what}", None, time)
                    pairs = 2e6 if "loop" in method else users * items
                    yield Measure(dataset, method, bits, 0, f"pairs timed, {what}", None, pairs)


def whole():
    return [*figure_1(), *figure_2(), *table_1()]
