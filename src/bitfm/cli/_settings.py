"""The settings of codes, as options of the command line."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from bitfm import DiscreteFM, DistilledFM, Recommender

__all__ = ["ModelOptions"]


@dataclass(frozen=True)
class ModelOptions:
    """What to make of codes; None leaves a setting as the model has it."""

    bits: int = 64
    model: str = "distilled"
    beta: float | None = None  # of a DiscreteFM
    anchor_strength: str | None = None  # of a DistilledFM, and so is the rank
    rank: int | None = None

    def __post_init__(self) -> None:
        owners = {"beta": "discrete", "anchor_strength": "distilled", "rank": "distilled"}
        for name, model in owners.items():
            if getattr(self, name) is not None and self.model != model:
                raise typer.BadParameter(f"only for --model {model}", param_hint=f"--{name.replace('_', '-')}")
        if self.anchor_strength not in (None, "auto") and not isinstance(self._strength(), float):
            message = f"expected auto, inf or a number, got {self.anchor_strength!r}"
            raise typer.BadParameter(message, param_hint="--anchor-strength")

    def _strength(self) -> float | str | None:
        with contextlib.suppress(ValueError):
            return float(self.anchor_strength or "")
        return self.anchor_strength

    def to_fit(self, seed: int) -> DistilledFM | DiscreteFM:
        """Return a model to be fitted."""
        from bitfm import FM, DiscreteFM, DistilledFM

        teacher = None if self.rank is None else FM(rank=self.rank, solver="gibbs", random_state=seed)
        chosen = {"beta": self.beta, "anchor_strength": self._strength(), "teacher": teacher}
        given: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        model = DiscreteFM if self.model == "discrete" else DistilledFM
        return model(bits=self.bits, random_state=seed, **given)

    def recommender(self, seed: int, kinds: dict[str, str]) -> Recommender:
        """Return a recommender to be fitted."""
        from bitfm import Recommender

        return Recommender(self.bits, model=self.to_fit(seed), kinds=kinds, random_state=seed)

    def options(self) -> dict[str, Any]:
        """Return the settings that are not None."""
        return {name: value for name, value in asdict(self).items() if value is not None}
