"""What to run of the paper's experiments."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from bitfm.validation import check_bits, check_choice, check_integer

from bitfm_research.paper.datasets import NAMES
from bitfm_research.paper.libfm import QUICK_STRENGTHS, STRENGTHS
from bitfm_research.paper.methods import METHODS
from bitfm_research.paper.names import BITS, LIBFM

__all__ = ["SEEDS", "Plan"]

SEEDS = 3
_QUICK_SEEDS, _QUICK_BITS = 1, (8, 64)


@dataclass(frozen=True)
class Plan:
    """What to run.

    Examples
    --------
    >>> plan = Plan(Path("data"))
    >>> plan.lengths, plan.seeds_of("DCF"), plan.seeds_of("bias only")
    ((8, 16, 32, 64), (0, 1, 2), (0,))
    """

    data: Path  # the folder of the data sets, or of the paper's two
    datasets: tuple[str, ...] = ()  # by default all that are there
    methods: tuple[str, ...] = ()  # by default all
    bits: tuple[int, ...] = ()  # by default the paper's code lengths
    seeds: int | None = None  # how many, counted from 0, of what is random; the split is that of seed 0
    quick: bool = False  # a first look: some of the users, two code lengths, fewer settings
    libfm: Path | None = None  # the program

    def __post_init__(self) -> None:
        for kind, given, known in (("dataset", self.datasets, NAMES), ("method", self.methods, (*METHODS, LIBFM))):
            for name in given:
                check_choice(kind, name, tuple(known))
        for bits in self.bits:
            check_bits(bits)
        if self.seeds is not None:
            check_integer("seeds", self.seeds, 1)

    @property
    def lengths(self) -> tuple[int, ...]:
        """The code lengths."""
        return self.bits or (_QUICK_BITS if self.quick else BITS)

    @property
    def strengths(self) -> tuple[float, ...]:
        """The settings of figure 2."""
        return QUICK_STRENGTHS if self.quick else STRENGTHS

    @property
    def all_seeds(self) -> tuple[int, ...]:
        """The seeds of what is random."""
        return tuple(range(self.seeds or (_QUICK_SEEDS if self.quick else SEEDS)))

    def seeds_of(self, method: str) -> tuple[int, ...]:
        """Return the seeds of a method: one if nothing in it is random."""
        return self.all_seeds if method not in METHODS or METHODS[method].random else (0,)

    def chosen(self, method: str) -> bool:
        """Whether a method is to be run."""
        return not self.methods or method in self.methods
