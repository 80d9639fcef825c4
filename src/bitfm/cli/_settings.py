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
    anchor_strength: str | None = None  # of a DistilledFM, and so is the rank
    rank: int | None = None

    def __post_init__(self) -> None:
        for option, value, model in (
            ("--beta", self.beta, "discrete"),
            ("--anchor-strength", self.anchor_strength, "distilled"),
            ("--rank", self.rank, "distilled"),
        ):
            if value is not None and self.model != model:
                raise typer.BadParameter(f"only for --model {model}", param_hint=option)
        if self.anchor_strength not in (None, "auto"):
            try:
                float(str(self.anchor_strength))
            except ValueError:
                raise typer.BadParameter(
                    f"expected auto, inf or a number, got {self.anchor_strength!r}", param_hint="--anchor-strength"
                ) from None

    def to_fit(self, seed: int) -> DistilledFM | DiscreteFM:
        """Return a model to be fitted."""
        from bitfm import FM, DiscreteFM, DistilledFM

        chosen: dict[str, Any] = {"bits": self.bits, "random_state": seed}
        if self.model == "discrete":
            return DiscreteFM(**chosen if self.beta is None else chosen | {"beta": self.beta})
        if self.anchor_strength is not None:
            chosen["anchor_strength"] = (
                self.anchor_strength if self.anchor_strength == "auto" else float(self.anchor_strength)
            )
        if self.rank is not None:
            chosen["teacher"] = FM(rank=self.rank, solver="gibbs", random_state=seed)
        return DistilledFM(**chosen)

    def recommender(self, seed: int, kinds: dict[str, str]) -> Recommender:
        """Return a recommender to be fitted."""
        from bitfm import Recommender

        return Recommender(self.bits, model=self.to_fit(seed), kinds=kinds, random_state=seed)

    def options(self) -> dict[str, Any]:
        """Return the settings that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}
