"""What the writer and the reader of a model file must agree on."""

from __future__ import annotations

import os
import re
import stat

import numpy as np

from bitfm.errors import ModelFileError

FORMAT = "bitfm"
FORMAT_VERSION = 1
"""The container version that this bitfm writes, and the newest one that it reads."""

METADATA = "__metadata__"
ALIGNMENT = 64
LENGTH_BYTES = 8
MAX_HEADER_BYTES = 16 << 20
MAX_DIMENSIONS = 32  # NumPy 1's limit; NumPy 2 allows 64

_CODES = {"BOOL": "?", "U8": "u1", "I8": "i1", "U16": "<u2", "I16": "<i2", "U32": "<u4", "I32": "<i4"}
_CODES |= {"U64": "<u8", "I64": "<i8", "F16": "<f2", "F32": "<f4", "F64": "<f8"}
DTYPES: dict[str, np.dtype[np.generic]] = {name: np.dtype(code) for name, code in _CODES.items()}

_PADDING = re.compile(r"__pad_[0-9]+__")


def is_padding(name: str) -> bool:
    """Tell whether a tensor of this name only fills the gap before the next aligned tensor."""
    return _PADDING.fullmatch(name) is not None


def require_regular(path: str | os.PathLike[str], status: os.stat_result) -> None:
    """Refuse directories, pipes, sockets and devices, which can neither be mapped nor safely replaced."""
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(
            f"{os.fspath(path)} is not a regular file and so not a bitfm model; give the path of a *.bitfm file."
        )
