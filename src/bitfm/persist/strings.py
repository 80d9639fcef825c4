"""Lists of strings as two arrays: UTF-8 bytes, and where each string starts and ends."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bitfm.errors import ModelFileError
from bitfm.persist.layout import is_text


def pack_strings(strings: Sequence[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    r"""Turn a list of strings into two arrays that a model file can hold.

    Parameters
    ----------
    strings
        Any strings without lone surrogates; they may be empty, repeat, and contain any other character.

    Returns
    -------
    data
        The UTF-8 bytes of all strings, one after the other.
    offsets
        ``len(strings) + 1`` positions; string ``i`` is ``data[offsets[i]:offsets[i + 1]]``.

    Raises
    ------
    TypeError
        If an element is not a string that UTF-8 can hold.

    Examples
    --------
    >>> data, offsets = pack_strings(["Zoë", "", "Al"])
    >>> data.tobytes(), offsets.tolist()
    (b'Zo\xc3\xabAl', [0, 4, 4, 6])
    """
    for index, string in enumerate(strings):
        if not is_text(string):
            raise TypeError(f"element {index} is {string!r}, expected Unicode text; convert it to a string.")
    encoded = [string.encode() for string in strings]
    offsets = np.fromiter(accumulate(map(len, encoded), initial=0), dtype=np.int64, count=len(encoded) + 1)
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_strings(data: NDArray[Any], offsets: NDArray[Any]) -> list[str]:
    """Turn the two arrays of :func:`pack_strings` back into strings.

    Parameters
    ----------
    data
        UTF-8 bytes, a one-dimensional array of dtype uint8.
    offsets
        A one-dimensional array of dtype int64 that rises from 0 to ``len(data)``.

    Returns
    -------
    list of str
        ``len(offsets) - 1`` strings.

    Raises
    ------
    ModelFileError
        If the arrays are anything else, as in a damaged file.

    Examples
    --------
    >>> unpack_strings(*pack_strings(["Zoë", "", "Al"]))
    ['Zoë', '', 'Al']
    """
    if data.dtype != np.uint8 or data.ndim != 1:
        raise _damage(f"its bytes are {data.ndim}-dimensional {data.dtype}, expected 1-dimensional uint8")
    if offsets.dtype != np.int64 or offsets.ndim != 1 or offsets.size == 0:
        raise _damage(f"its offsets are {offsets.dtype} of shape {offsets.shape}, expected a list of int64")
    if offsets[0] != 0 or offsets[-1] != data.size or np.any(offsets[:-1] > offsets[1:]):
        raise _damage(f"its offsets do not rise from 0 to {data.size}")
    raw = data.tobytes()
    try:
        return [raw[begin:end].decode() for begin, end in pairwise(offsets.tolist())]
    except UnicodeDecodeError as error:
        raise _damage(f"its bytes are not UTF-8 ({error.reason})") from None


def _damage(what: str) -> ModelFileError:
    return ModelFileError(f"A string list of the model is damaged: {what}; save the model again.")
