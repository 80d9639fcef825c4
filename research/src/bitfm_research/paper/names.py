"""The methods of the paper's experiments: their names, and what the paper says of them."""

from __future__ import annotations

__all__ = [
    "BEST_WAYS",
    "BITS",
    "CODE_PAIRS",
    "CODE_PAIRS_ACROSS",
    "EVENTS",
    "FEATURES",
    "FLOAT_PAIRS",
    "FROM_DUMPS",
    "HASHING",
    "KS",
    "LEVELS",
    "LIBFM",
    "LOOP",
    "PAIR_WAYS",
    "PAPER_BASELINES",
    "PAPER_TTC",
    "PARTS",
    "PRODUCT",
    "PRODUCT_AND_BEST",
    "PUBLISHED_AMAZON",
    "RETRIEVAL",
    "SIZES",
    "WITH_BITS",
    "WITH_FEATURES",
    "WITH_IDS",
    "WORDS",
    "is_main",
    "plain",
    "spoken",
]

BITS = (8, 16, 32, 64)
KS = tuple(range(1, 11))
FEATURES = "; features"  # what a method's name ends with where it was given the features of the items

WITH_IDS = ("yelp", "amazon")
WITH_FEATURES = ("ml-1m", "douban")
WORDS = "-words"
FROM_DUMPS = tuple(name + WORDS for name in WITH_IDS)  # with the words of the reviews, for those who have the dumps
EVENTS = ("citeulike-t", "frappe")  # without ratings: what was chosen, and the words of the items
SIZES = {"yelp": (13_679, 12_922), "amazon": (35_151, 33_195)}  # users and items, hence pairs to score

# Without codes, the same at every length.
LEVELS = ("random", "popularity", "bias only", "FM, ALS", "FM, Gibbs")
HASHING = ("random projection", "sign rounding", "FM + ITQ", "CH", "PPH")
PAPER_BASELINES = ("BCCF", "DCF", "DCMF")
# What does the work in DFM: two parts of its score, each by itself, and a fit that has codes only.
PARTS = ("DFM, linear part alone", "DFM, codes alone", "DFM, without linear terms")
# LSH has a code for each user, but scores by the ratings of those with like codes, which it keeps.
WITH_BITS = ("FM, SGD", "LSH", *HASHING, *PAPER_BASELINES, "DCMF, logit", *PARTS, "DFM, paper", "DFM, distilled")
LIBFM = "libFM, executable"  # Rendle's own program, where there is one

# The ways of Table 1: pairs given one by one, and the best ten items of every user.
LOOP, FLOAT_PAIRS = "FM; libFM loop", "FM; float32 pairs"
CODE_PAIRS, CODE_PAIRS_ACROSS = "DFM, paper; pairs", "DFM, paper; pairs across"
PRODUCT, PRODUCT_AND_BEST, RETRIEVAL = "FM; matrix product", "FM; product and best 10", "DFM, paper; retrieval"
PAIR_WAYS = (LOOP, LIBFM, FLOAT_PAIRS, CODE_PAIRS, CODE_PAIRS_ACROSS)
BEST_WAYS = (PRODUCT, PRODUCT_AND_BEST, RETRIEVAL)

# Table 1 of the paper, in minutes.
PAPER_TTC = {
    "yelp": {"libFM": (27.18, 56.77, 114.10, 217.64), "DFM": (2.06, 3.56, 6.60, 12.43)},
    "amazon": {"libFM": (177.03, 357.46, 716.83, 1414.67), "DFM": (12.67, 22.50, 42.56, 81.04)},
}
# NDCG@1 to NDCG@10 at 64 bits, which the authors publish beside their code.
PUBLISHED_AMAZON = (0.8173, 0.8120, 0.8107, 0.8126, 0.8164, 0.8223, 0.8300, 0.8391, 0.8488, 0.8574)


def plain(method: str) -> str:
    """Return a method's name without what it was given.

    >>> plain("DFM, paper; features")
    'DFM, paper'
    """
    return method.removesuffix(FEATURES)


def is_main(method: str) -> bool:
    """Whether a method's name is of Figure 1: not a setting of Figure 2, nor a way of Table 1.

    >>> is_main("DCMF; features"), is_main("FM, SGD; l2=0.1")
    (True, False)
    """
    return ";" not in plain(method)


def spoken(method: str) -> str:
    """Return a method's name for a sentence, where commas and semicolons separate other things.

    >>> spoken("DFM, paper; features")
    'DFM (paper) with features'
    """
    name, _, kind = plain(method).partition(", ")
    return (f"{name} ({kind})" if kind else name) + (" with features" if method.endswith(FEATURES) else "")
