"""A recommender's settings by name, as scikit-learn's estimators have them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

__all__ = ["Settings"]

_NESTED = "model"  # the setting that has settings itself


class Settings:
    """Settings that ``sklearn.base.clone`` and searches over settings can read and set.

    Examples
    --------
    >>> from sklearn.base import clone
    >>> from bitfm import ImplicitFM, Recommender
    >>> rec = Recommender(model=ImplicitFM(128), half_life=30.0)
    >>> clone(rec).set_params(half_life=7.0, model__bits=64).get_params()["model__bits"]
    64
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings of the constructor by name; with `deep` also the model's, as ``model__bits``."""
        found = {name: getattr(self, name) for name in self._names()}
        model = found[_NESTED]
        if deep and hasattr(model, "get_params"):
            found |= {f"{_NESTED}__{name}": value for name, value in model.get_params(deep=True).items()}
        return found

    def set_params(self, **settings: Any) -> Self:
        """Change settings, which count from the next `fit` on; what was fitted stays."""
        known = self.get_params()
        nested = {}
        for name in settings:
            if name not in known and not (name.startswith(f"{_NESTED}__") and settings.get(_NESTED) is not None):
                raise ValueError(f"set_params: there is no setting {name!r}; there are {', '.join(sorted(known))}.")
        for name, value in settings.items():
            if name.startswith(f"{_NESTED}__"):
                nested[name.removeprefix(f"{_NESTED}__")] = value
            else:
                setattr(self, name, value)
        if nested:
            getattr(self, _NESTED).set_params(**nested)
        return self

    def _names(self) -> list[str]:
        return [item.name for item in fields(self) if item.init]  # type: ignore[arg-type]
