"""The settings of codes, as options of the command line."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from bitfm import DiscreteFM, DistilledFM, Recommender

__all__ = ["CodeSettings"]


@dataclass(frozen=True)
class CodeSettings:
    """What to make of codes; None leaves a setting as the model has it."""

    bits: int = 64
    model: str = "distilled"
    beta: float | None = None  # of a DiscreteFM
    anchor: str | None = None  # of a DistilledFM, and so is the rank
    rank: int | None = None

    def __post_init__(self) -> None:
        for option, value, model in (
            ("--beta", self.beta, "discrete"),
            ("--anchor", self.anchor, "distilled"),
            ("--rank", self.rank, "distilled"),
        ):
            if value is not None and self.model != model:
                raise typer.BadParameter(f"only for --model {model}", param_hint=option)
        if self.anchor not in (None, "auto"):
            try:
                float(str(self.anchor))
            except ValueError:
                raise typer.BadParameter(
                    f"expected auto, inf or a number, got {self.anchor!r}", param_hint="--anchor"
                ) from None

    def to_fit(self, seed: int) -> DistilledFM | DiscreteFM:
        """Return a model to be fitted."""
        from bitfm import FM, DiscreteFM, DistilledFM

        chosen: dict[str, Any] = {"bits": self.bits, "random_state": seed}
        if self.model == "discrete":
            return DiscreteFM(**chosen if self.beta is None else chosen | {"beta": self.beta})
        if self.anchor is not None:
            chosen["anchor"] = self.anchor if self.anchor == "auto" else float(self.anchor)
        if self.rank is not None:
            chosen["teacher"] = FM(rank=self.rank, solver="gibbs", random_state=seed)
        return DistilledFM(**chosen)

    def recommender(self, seed: int, kinds: dict[str, str]) -> Recommender:
        """Return a recommender to be fitted."""
        from bitfm import Recommender

        return Recommender(self.bits, model=self.to_fit(seed), kinds=kinds, random_state=seed)

    def options(self) -> dict[str, Any]:
        """Return the settings by the names of their options, those that say something."""
        return {name: value for name, value in asdict(self).items() if value is not None}
