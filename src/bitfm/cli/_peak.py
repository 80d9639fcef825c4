"""How much memory this process has had at most."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["peak_megabytes"]


def peak_megabytes() -> float | None:
    """Return the most memory resident since the process began, in MB; None where the system does not tell."""
    status = Path("/proc/self/status")
    if status.exists():  # Linux, where getrusage also counts the process that started this one
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:  # not a POSIX system
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
