"""Builds wheels for Linux, and tests them as a user would have them.

    python tools/wheels.py build dist PYTHON...    per processor one wheel for 3.11 and one for 3.12 and newer
    python tools/wheels.py test dist PYTHON...     in a clean environment of each Python; for other processors by QEMU

The compiler is the one that PyPI's ziglang carries. It links a C++ library of its own and an old glibc, so that whoever
installs a wheel needs neither a compiler nor a new system. `make wheels` and `make test-wheels` call this file.
"""

import filecmp
import functools
import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import ziglang

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORK = ROOT / "build" / "wheels"
MODELS = ("ratings.bitfm", "events.bitfm")
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}  # the processors, as Debian calls them
GLIBC = 28  # 2.28, as NumPy, SciPy and scikit-learn have it
STABLE = (3, 12)  # from here on nanobind needs Python's stable interface only


def run(*command: str | Path, **variables: str) -> str:
    """Run a command with more variables in its environment; return what it printed."""
    done = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{done.stdout}\nfailed: {' '.join(map(str, command))}")
    return done.stdout


def pip(python: str | Path, *arguments: str | Path, **variables: str) -> None:
    """Run pip."""
    run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, **variables)


def version_of(python: str) -> tuple[int, int]:
    """Return the version of an interpreter."""
    major, minor = run(python, "-c", "import sys; print(*sys.version_info[:2])").split()
    return int(major), int(minor)


def build(folder: Path, pythons: Iterable[str]) -> None:
    """Build a wheel with Python 3.11, and one with the first newer Python, for each processor."""
    builders: dict[bool, str] = {}
    for python in pythons:
        builders.setdefault(version_of(python) >= STABLE, python)
    made = WORK / "made"
    for old in (folder, made):
        shutil.rmtree(old, ignore_errors=True)
        old.mkdir(parents=True)
    for processor in DEBIAN:
        settings = [f"build-dir=build/wheel-{processor}", "cmake.args=-DCMAKE_TOOLCHAIN_FILE=tools/zig.cmake"]
        variables = {
            "BITFM_ZIG": str(Path(ziglang.__file__).parent / "zig"),
            "BITFM_PROCESSOR": processor,
            "BITFM_TARGET": f"{processor}-linux-gnu.2.{GLIBC}",
            "_PYTHON_HOST_PLATFORM": f"linux-{processor}",
        }
        for stable, python in builders.items():
            variables["SETUPTOOLS_EXT_SUFFIX"] = ".abi3.so" if stable else f".cpython-311-{processor}-linux-gnu.so"
            pip(python, "wheel", "--no-deps", "--wheel-dir", made, *(f"-C{one}" for one in settings), ROOT, **variables)
    for wheel in made.glob("*.whl"):
        tag = f"manylinux_2_{GLIBC}_{wheel.stem.partition('-linux_')[2]}"
        renamed = run(sys.executable, "-m", "wheel", "tags", "--platform-tag", tag, wheel).strip()
        shutil.move(made / renamed, folder / renamed)
    for wheel in sorted(folder.glob("*.whl")):
        print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 2**20:.1f} MiB")


def audit(wheel: Path) -> None:
    """Check that a wheel needs no newer system than its name says, and no more of Python than is stable."""
    needs = json.loads(run(sys.executable, "-m", "auditwheel", "show", "--json", wheel))["overall_tag"]
    if not needs.startswith("manylinux_2_") or int(needs.split("_")[2]) > GLIBC:
        sys.exit(f"{wheel.name} needs {needs}, says auditwheel")
    if "-abi3-" in wheel.name:
        run(sys.executable, "-m", "abi3audit", "--strict", wheel)
    print(f"{wheel.name}: needs {needs}")


def test_here(wheel: Path, python: str) -> None:
    """Run a wheel in a clean environment, on every instruction set of this processor."""
    environment = WORK / "-".join(("venv", *map(str, version_of(python))))
    shutil.rmtree(environment, ignore_errors=True)
    run(python, "-m", "venv", environment)
    pip(environment / "bin" / "python", "install", wheel)
    for isa in run(sys.executable, "-c", "import bitfm.core as core; print(*core.available_isas())").split():
        print(run(environment / "bin" / "python", HERE / "smoke.py", environment / isa, BITFM_ISA=isa), end="")
        compare(environment / isa)


def test_emulated(wheel: Path, processor: str) -> None:
    """Run a wheel in the Python 3.11 that Debian has for another processor, whose models may differ in rounding."""
    root, packages = WORK / f"debian-{processor}", WORK / f"packages-{processor}"
    if not root.exists():
        choice = [f"--architectures={DEBIAN[processor]}", "--include=python3.11,libstdc++6"]
        run("mmdebstrap", "--quiet", "--variant=extract", *choice, "bookworm", root)
    shutil.rmtree(packages, ignore_errors=True)
    tags = [f"manylinux_2_{minor}_{processor}" for minor in range(17, GLIBC + 1)] + [f"manylinux2014_{processor}"]
    choice = ["--python-version=3.11", "--only-binary=:all:", *(f"--platform={tag}" for tag in tags)]
    pip(sys.executable, "install", *choice, "--target", packages, wheel)
    python = [f"qemu-{processor}", "-L", root, root / "usr/bin/python3.11"]
    print(run(*python, HERE / "smoke.py", packages / "models", PYTHONPATH=str(packages)), end="")


def compare(folder: Path) -> None:
    """Require the models that the ordinary build gives, byte for byte."""
    _, different, missing = filecmp.cmpfiles(ordinary(), folder, MODELS, shallow=False)
    if different or missing:
        sys.exit(f"{folder}: {', '.join(different + missing)} is not what the ordinary build gives")


@functools.cache
def ordinary() -> Path:
    """Fit models with the ordinary build, which is installed beside this script's Python; return their folder."""
    folder = WORK / "ordinary"
    run(sys.executable, HERE / "smoke.py", folder)
    return folder


def test(folder: Path, pythons: Iterable[str]) -> None:
    """Audit all wheels; run those for this processor in each Python, and others where QEMU is installed."""
    for wheel in sorted(folder.glob("*.whl")):
        audit(wheel)
    for python in pythons:
        tag = "cp312-abi3" if version_of(python) >= STABLE else "cp311-cp311"
        test_here(next(folder.glob(f"*-{tag}-*_{platform.machine()}.whl")), python)
    for processor in set(DEBIAN) - {platform.machine()}:
        if shutil.which(f"qemu-{processor}") and shutil.which("mmdebstrap"):
            test_emulated(next(folder.glob(f"*-cp311-cp311-*_{processor}.whl")), processor)
        else:
            print(f"{processor}: not run, as qemu-{processor} and mmdebstrap are not installed")


if __name__ == "__main__":
    {"build": build, "test": test}[sys.argv[1]](Path(sys.argv[2]).resolve(), sys.argv[3:])
