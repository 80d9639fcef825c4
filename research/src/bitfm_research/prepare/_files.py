"""Raw files, or members of zip archives, and how far they have been read."""

from __future__ import annotations

import contextlib
import os
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from bitfm.data import files
from bitfm.errors import DataFileError


class RawFile(NamedTuple):
    """An open file, and the share of it that has been read."""

    stream: IO[bytes]
    done: Callable[[], float]


@contextlib.contextmanager
def open_raw(path: Path, member: str | None = None) -> Iterator[RawFile]:
    """Open a file, compressed or not, or a member of a zip archive; damage to either is an error that names it."""
    if member is None:
        with files.open_raw(path) as file:
            raw = getattr(file, "fileobj", None) or file  # of gzip: where the compressed bytes are
            yield RawFile(file, _share(raw.tell, os.path.getsize(path)))
        return
    try:
        with zipfile.ZipFile(path) as archive, archive.open(member) as inside:
            yield RawFile(inside, _share(inside.tell, archive.getinfo(member).file_size))
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataFileError(f"{path}, {member}: the compressed data is damaged ({error}); get the file again") from None


def _share(place: Callable[[], int], size: int) -> Callable[[], float]:
    return lambda: min(1.0, place() / max(size, 1))
