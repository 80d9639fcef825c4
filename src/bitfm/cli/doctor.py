"""``bitfm doctor``: what this installation is and can do."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path
from typing import Annotated, Any

import typer
from packaging.requirements import Requirement

from bitfm import __version__
from bitfm.cli.screen import show


def doctor(as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False) -> None:
    """Say what is installed, which instruction set is in use, how many threads, and where the data is."""
    from bitfm import _core
    from bitfm.validation import thread_count

    named = os.environ.get("BITFM_DATA", "")
    folder = named if Path(named).is_dir() else ""
    facts = {
        "bitfm": __version__,
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "instruction set": f"{_core.isa()} (available: {', '.join(_core.available_isas())}; BITFM_ISA chooses)",
        "threads": str(thread_count(-1)),
        **{f"extra: {name}": state for name, state in _extras().items()},
        "bitfm-research": "installed" if _installed("bitfm-research") else "missing (pip install bitfm-research)",
        "data folder": folder or "none found; BITFM_DATA says where the real data sets are",
    }
    show("bitfm doctor", [{"what": what, "found": found} for what, found in facts.items()], as_json=as_json)


def _extras() -> dict[str, str]:
    """Return what of each optional extra is there."""
    found: dict[str, list[tuple[str, bool]]] = {}
    for text in importlib.metadata.requires("bitfm") or []:
        requirement = Requirement(text)
        extra = _extra_of(requirement)
        if extra:
            found.setdefault(extra, []).append((requirement.name, _installed(requirement.name)))
    return {
        extra: "installed" if all(there for _, there in parts) else
        "missing " + ", ".join(name for name, there in parts if not there) + f" (pip install 'bitfm[{extra}]')"
        for extra, parts in found.items()
    }  # fmt: skip


def _extra_of(requirement: Requirement) -> str | None:
    names: list[Any] = importlib.metadata.metadata("bitfm").get_all("Provides-Extra") or []
    marker = requirement.marker
    if marker is None or marker.evaluate({"extra": ""}):
        return None
    return next((str(name) for name in names if marker.evaluate({"extra": str(name)})), None)


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
