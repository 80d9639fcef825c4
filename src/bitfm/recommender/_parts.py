"""What the fits to ratings and to events have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bitfm.models.base import FeatureModel
from bitfm.recommender._reading import Tables
from bitfm.recommender.user_towers import USER_TOWERS
from bitfm.validation import check_choice

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["settings_of_model", "shared_parts"]


def settings_of_model(settings: Recommender, bits: int) -> dict[str, Any]:
    """Return what a model is told by a recommender that was not given one; `bits` is the default."""
    about = {"random_state": settings.random_state, "n_jobs": settings.n_jobs, "verbose": settings.verbose or 0}
    return {"bits": bits if settings.bits is None else settings.bits, **about}


def shared_parts(settings: Recommender, tables: Tables, model: FeatureModel) -> dict[str, Any]:
    """Return the parts of a state that do not depend on what the model has learnt."""
    return {
        "items": tables.sides["item"],
        "context": tables.context,
        "model": model.record(),
        "n_jobs": model.n_jobs,
        "user_tower": check_choice("user_tower", settings.user_tower, tuple(USER_TOWERS.names())),
        "roles": tables.read.roles,
        "frames": tables.read.frames,
        "columns": tables.notes,
        "unsaved": {name: getattr(model, name) for name in model.unsaved},
    }
