"""Events: rankings of whole catalogues, by bitfm and by tuned opponents."""

from bitfm_research.bench.events.run import SETS, run

__all__ = ["SETS", "run"]
