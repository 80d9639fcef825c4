"""Counts private names that cross a package: ``python tools/edges.py [--most N] SOURCE_FOLDER...``.

A name with a leading underscore belongs to the package that it is in: modules of that package and below it may import
it, no others. Prints each import that breaks this rule, and their number; fails if there are more than N. Private
attributes are ruff's to find (SLF001).
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path


def main() -> int:
    """Check the packages in the folders given."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="+", type=Path, help="folders that hold packages, such as src")
    parser.add_argument("--most", type=int, default=0, help="how many there may be")
    options = parser.parse_args()
    files = {module_of(file, folder): file for folder in options.folders for file in sorted(folder.rglob("*.py"))}
    packages = {name for name, file in files.items() if file.name == "__init__.py"}
    tops = {name.partition(".")[0] for name in files}
    found = [
        f"{files[importer]}:{line}: {name}"
        for importer in files
        for line, name in imports(files[importer], importer if importer in packages else parent(importer))
        if name.partition(".")[0] in tops and crosses(importer, name, packages)
    ]
    print(*found, f"{len(found)} private names cross a package; there may be {options.most}", sep="\n")
    return int(len(found) > options.most)


def module_of(file: Path, folder: Path) -> str:
    """Return a file's name as Python imports it."""
    parts = file.relative_to(folder).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def parent(name: str) -> str:
    """Return the package that a module or a name is in."""
    return name.rpartition(".")[0]


def imports(file: Path, package: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the full name of everything that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)


def crosses(importer: str, name: str, packages: set[str]) -> bool:
    """Whether a part of a name is private to a package that the importer is not in."""
    parts = name.split(".")
    for place, part in enumerate(parts):
        if part.startswith("_") and not part.startswith("__"):
            owner = ".".join(parts[:place])
            owner = owner if owner in packages else parent(owner)
            if not f"{importer}.".startswith(f"{owner}."):
                return True
    return False


if __name__ == "__main__":
    sys.exit(main())
