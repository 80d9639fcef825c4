"""Locks that a forked process finds free."""

from __future__ import annotations

import os
import threading
import weakref

__all__ = ["new_lock"]

_locks: weakref.WeakSet[threading.Lock] = weakref.WeakSet()


def new_lock() -> threading.Lock:
    """Return a lock that no thread holds after a fork."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _free_locks() -> None:
    """Free what other threads held when the process was forked: the child lacks them, and no state is half made."""
    for lock in _locks:
        if lock.locked():
            lock.release()


os.register_at_fork(after_in_child=_free_locks)
