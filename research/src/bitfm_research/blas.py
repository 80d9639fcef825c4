"""One BLAS thread for small products: results do not depend on their number, and none goes on spinning afterwards."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["single_blas_thread"]

_lock = threading.RLock()  # the number of BLAS threads belongs to the whole process


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread meanwhile."""
    with _lock, _controller().limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _controller() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController  # looks at every library of the process: not for a query

    return ThreadpoolController()
