"""The settings of codes, as options of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from bitfm import DiscreteFM, Recommender

__all__ = ["CodeSettings"]


@dataclass(frozen=True)
class CodeSettings:
    """What to make of codes; None leaves a setting as `DiscreteFM` has it."""

    bits: int = 64
    objective: str = "anchored"
    beta: float | None = None  # of the paper's objective
    anchor: str | None = None  # of the anchored one, and so is the rank
    rank: int | None = None

    def __post_init__(self) -> None:
        for option, value, objective in (
            ("--beta", self.beta, "paper"),
            ("--anchor", self.anchor, "anchored"),
            ("--rank", self.rank, "anchored"),
        ):
            if value is not None and self.objective != objective:
                raise typer.BadParameter(f"only for --objective {objective}", param_hint=option)
        if self.anchor not in (None, "auto"):
            try:
                float(str(self.anchor))
            except ValueError:
                raise typer.BadParameter(
                    f"expected auto, inf or a number, got {self.anchor!r}", param_hint="--anchor"
                ) from None

    def model(self, seed: int) -> DiscreteFM:
        """Return a model to be fitted."""
        from bitfm import FM, DiscreteFM

        chosen: dict[str, Any] = {}
        if self.beta is not None:
            chosen["beta"] = self.beta
        if self.anchor is not None:
            chosen["anchor"] = self.anchor if self.anchor == "auto" else float(self.anchor)
        if self.rank is not None:
            chosen["teacher"] = FM(rank=self.rank, solver="gibbs", random_state=seed)
        return DiscreteFM(bits=self.bits, objective=self.objective, random_state=seed, **chosen)

    def recommender(self, seed: int, kinds: dict[str, str]) -> Recommender:
        """Return a recommender to be fitted."""
        from bitfm import Recommender

        return Recommender(self.bits, objective=self.objective, model=self.model(seed), kinds=kinds, random_state=seed)

    def options(self) -> dict[str, Any]:
        """Return the settings by the names of their options, those that say something."""
        everything = {
            "bits": self.bits,
            "objective": self.objective,
            "beta": self.beta,
            "anchor": self.anchor,
            "rank": self.rank,
        }
        return {name: value for name, value in everything.items() if value is not None}
