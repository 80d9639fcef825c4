"""The ``*.bitfm`` file: named arrays and strings, opened by memory map, and schemas that say what a part of it holds.

The container is a strict subset of the safetensors layout; ``docs/model-file.md`` is its specification.
"""

from bitfm.persist.narrow import narrow_type, narrowed
from bitfm.persist.reader import Contents, read
from bitfm.persist.schema import (
    Registry,
    Tensor,
    Tensors,
    below,
    check_tensors,
    damage,
    decode,
    encode,
    naming,
    numbered,
    plain,
    put,
)
from bitfm.persist.writer import write

__all__ = [
    "Contents",
    "Registry",
    "Tensor",
    "Tensors",
    "below",
    "check_tensors",
    "damage",
    "decode",
    "encode",
    "naming",
    "narrow_type",
    "narrowed",
    "numbered",
    "plain",
    "put",
    "read",
    "write",
]
