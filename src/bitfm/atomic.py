"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["atomic_write", "sync_folder"]


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its place if the block succeeds and vanishes if it fails.

    A link is followed: the file it names is replaced, not the link.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        raise OSError(f"{os.fspath(path)} is not a regular file; give the name of a file to create or replace")
    folder = os.path.dirname(target)
    # Not tempfile: its files are private to the user, whereas this one should get the usual permissions.
    temporary = os.path.join(folder, f".bitfm-{secrets.token_hex(16)}.tmp")
    try:
        with open(temporary, "xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in (None, temporary, target):
            error.filename = os.fspath(path)  # the name that the caller knows
        raise
    sync_folder(folder)


def sync_folder(folder: str | os.PathLike[str]) -> None:
    """Put a folder's entries on the disk, where the file system can."""
    # Makes the rename survive a power cut. The file is complete under its name by now, and some file systems cannot
    # sync a folder: no reason to call the write failed.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
