"""Mutated model files as an attack by number: see `mutators` for the damage and `subjects` for what is asked."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

from attacks.mutators import mutant
from attacks.subjects import subjects


def trial(number: int, folder: Path) -> tuple[str, Callable[[], str]]:
    """Return the name of a mutator, and a function that uses a file which it damaged."""
    warnings.simplefilter("ignore")  # numbers of a damaged file may overflow
    os.fsync = lambda _: None
    files = subjects()
    subject = files[number % len(files)]
    name, raw = mutant(subject.file, number)
    return name, lambda: subject.survives(raw, folder / "mutant.bitfm")
