"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["atomic_write", "sync_folder"]

_PREFIX, _SUFFIX = ".bitfm-", ".tmp"
_STALE = 60.0  # seconds after which a temporary file that nobody has locked was left behind


@contextlib.contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its place if the block succeeds and vanishes if it fails.

    A link is followed: the file it names is replaced, not the link. The new file gets the mode of the old one, before
    its first byte.
    """
    target = os.path.realpath(path)
    mode = None
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(target).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(f"{os.fspath(path)} is not a regular file; give the name of a file to create or replace")
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(16)}{_SUFFIX}")
    try:
        _remove_stale(folder)
        with open(temporary, "wb", opener=_open_unnamed) as file:
            named = os.path.lexists(temporary)
            if mode is not None:
                os.chmod(file.fileno(), stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not named:
                _give_name(file.fileno(), temporary)
        os.replace(temporary, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.errno and error.filename in (None, temporary, target, folder):
            error.filename, error.filename2 = os.fspath(path), None  # the name that the caller knows
        raise
    sync_folder(folder)


def _open_unnamed(temporary: str, flags: int) -> int:
    """Open a file that has no name yet, where the system can: nothing of it is left if the process is killed."""
    with contextlib.suppress(OSError, AttributeError):
        descriptor = os.open(os.path.dirname(temporary), os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o666)
        if os.path.exists(f"/proc/self/fd/{descriptor}"):
            return descriptor
        os.close(descriptor)
    # Not tempfile: its files are private to the user, whereas this one should get the usual permissions.
    descriptor = os.open(temporary, flags | os.O_CREAT | os.O_EXCL, 0o666)
    _lock(descriptor)
    return descriptor


def _give_name(descriptor: int, path: str) -> None:
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:  # with a folder's descriptor it is linkat, which follows the link to the file
        os.link(f"/proc/self/fd/{descriptor}", path, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


def _remove_stale(folder: str) -> None:
    """Remove what processes left that were killed while they wrote; who still writes holds a lock."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not (entry.name.startswith(_PREFIX) and entry.name.endswith(_SUFFIX)):
                continue
            with contextlib.suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime < _STALE:
                    continue
                descriptor = os.open(entry.path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
                try:
                    if _lock(descriptor):
                        os.unlink(entry.path)
                finally:
                    os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ModuleNotFoundError:  # not a system that has such locks
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
