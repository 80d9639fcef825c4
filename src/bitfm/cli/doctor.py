"""``bitfm doctor``: what this installation is and can do."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from packaging.requirements import Requirement

from bitfm import __version__
from bitfm.cli import _options as option
from bitfm.cli.screen import show


def doctor(as_json: option.Json = False) -> None:
    """Show what is installed, which instruction set is in use, how many threads, and where the data is."""
    from bitfm import _core
    from bitfm.validation import thread_count

    folder = os.environ.get("BITFM_DATA", "")
    facts = {
        "bitfm": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "instruction set": f"{_core.isa()} (available: {', '.join(_core.available_isas())}; BITFM_ISA chooses)",
        "threads": str(thread_count(-1)),
        **{f"extra: {name}": _state(f"bitfm[{name}]", parts) for name, parts in _extras().items()},
        "bitfm-research": _state("bitfm-research", ["bitfm-research"]),
        "data folder": folder if Path(folder).is_dir() and folder else "none found; BITFM_DATA names the folder",
    }
    show("bitfm doctor", [{"what": what, "found": found} for what, found in facts.items()], as_json=as_json)


def _extras() -> dict[str, list[str]]:
    """Return the packages of each optional extra."""
    needed = [Requirement(text) for text in importlib.metadata.requires("bitfm") or []]
    optional = [(one.name, one.marker) for one in needed if one.marker and not one.marker.evaluate({"extra": ""})]
    extras = map(str, importlib.metadata.metadata("bitfm").get_all("Provides-Extra") or [])
    return {extra: [name for name, marker in optional if marker.evaluate({"extra": extra})] for extra in extras}


def _state(package: str, parts: list[str]) -> str:
    missing = [name for name in parts if not any(importlib.metadata.distributions(name=name))]
    return f"missing {', '.join(missing)} (pip install '{package}')" if missing else "installed"
