"""Named arrays and strings in one ``*.bitfm`` file, opened by memory map.

The container is a strict subset of the safetensors layout; ``docs/model-file.md`` is its specification.
It knows arrays and strings only: which of them make up a model is decided by the models.
"""

from __future__ import annotations

from bitfm.modelfile._layout import FORMAT_VERSION
from bitfm.modelfile._reader import Contents, read
from bitfm.modelfile._strings import pack_strings, unpack_strings
from bitfm.modelfile._writer import write

__all__ = ["FORMAT_VERSION", "Contents", "pack_strings", "read", "unpack_strings", "write"]
