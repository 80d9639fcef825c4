"""Arguments that resemble what the native core asks for, but are not."""

from __future__ import annotations

import numpy as np
import pytest

REFUSED = (TypeError, ValueError)


def spoilt(array):
    """Return things that resemble the array, but are not what was asked for."""
    other = np.float64 if array.dtype == np.float32 else np.float32
    yield from (None, 3, "abc", [], array.tolist(), object(), b"bytes")
    yield from (
        array[None],
        array.astype(other if array.dtype.kind == "f" else np.int16 if array.dtype != np.int16 else np.int32),
        array.astype(object),
    )
    other = np.int8 if array.dtype == np.uint8 else np.uint8
    yield array.astype(array.dtype.newbyteorder(), copy=True) if array.itemsize > 1 else array.astype(other)
    yield array.ravel()[:0].reshape((0,) * array.ndim)
    yield np.repeat(array, 2, axis=0)[::2] if len(array) > 1 else None
    yield np.concatenate([array, array])
    yield array[:-1].copy()
    if array.ndim == 2:
        yield from (array[0].copy(), array[:, :-1].copy(), np.asfortranarray(array))
    yield array.reshape(-1)[0]


def each_spoilt(call, arguments, names):
    """Call with each of the named arguments spoilt in turn; every call must be refused."""
    call(**arguments)
    for name in names:
        for wrong in spoilt(arguments[name]):
            with pytest.raises(REFUSED):
                call(**{**arguments, name: wrong})
