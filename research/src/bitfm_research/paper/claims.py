"""All claims of the paper's experiments, checked against what was measured."""

from __future__ import annotations

from collections.abc import Iterable

from bitfm_research.paper._claims_of_accuracy import bias_claims, feature_claims, id_claims, published_claim
from bitfm_research.paper._claims_of_parts import part_claims
from bitfm_research.paper._claims_of_settings import setting_claims
from bitfm_research.paper._claims_of_speed import speed_claims
from bitfm_research.paper._words_of_events import event_claims
from bitfm_research.paper.claim import Claim
from bitfm_research.paper.means import Means
from bitfm_research.paper.names import FEATURES, WITH_IDS
from bitfm_research.paper.paired import adjusted
from bitfm_research.paper.results import Measure
from bitfm_research.paper.user_scores import UserScores

__all__ = ["check_claims"]


def check_claims(measures: Iterable[Measure], users: UserScores | None = None) -> list[Claim]:
    """Return every claim with what was measured; where a run was cut short, what is missing is "not run".

    Where the NDCG of the users is given, differences are tested, and their p-values adjusted for the number of tests.

    Examples
    --------
    >>> from bitfm_research.paper.claims import check_claims
    >>> claim = check_claims([])[0]
    >>> claim.title
    'DFM is better than the other binarised methods BCCF, DCF and DCMF'
    >>> claim.finding("yelp").paper, claim.finding("yelp").measured
    (7.95, None)
    """
    means = Means(measures, users)
    sets = means.with_features()
    claims = [
        *id_claims(means),
        *part_claims(means, WITH_IDS),
        *setting_claims(means),
        *speed_claims(means),
        published_claim(means),
        *bias_claims(means),
        *feature_claims(means, sets),
        *part_claims(means, sets, FEATURES),
        *event_claims(means),
    ]
    return adjusted(claims)
