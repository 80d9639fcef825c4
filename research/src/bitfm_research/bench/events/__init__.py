"""Events: rankings of whole catalogues, by bitfm and by tuned opponents."""

from bitfm_research.bench.events.run import SETS, run
from bitfm_research.bench.events.search import run_search
from bitfm_research.bench.events.speed import run_speed

__all__ = ["SETS", "run", "run_search", "run_speed"]
