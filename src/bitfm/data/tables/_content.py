"""The bytes of a file or of standard input, unzipped, and as UTF-8 whatever they were."""

from __future__ import annotations

import codecs
import gzip
import sys
import zlib
from pathlib import Path

from bitfm.data.files import open_raw
from bitfm.errors import DataFileError

STANDARD_INPUT = "-"


def read_content(name: str) -> bytes:
    """Return all bytes of a file, or of standard input."""
    if name != STANDARD_INPUT:
        with open_raw(Path(name)) as file:
            return file.stream.read()
    content = sys.stdin.buffer.read()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataFileError(f"standard input: the compressed data is damaged ({error}); get it again") from None


def as_utf8(name: str, content: bytes) -> bytes:
    r"""Return a text in UTF-8 with ``\n`` between lines."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = content.decode("utf-16", errors="replace").encode()
    if b"\0" in content:
        raise DataFileError(f"{name} holds zero bytes and is no text; expected a table in a format that bitfm reads")
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            content = content.decode("latin-1").encode()
    if b"\n" not in content:
        return content.replace(b"\r", b"\n")
    return content.replace(b"\r\n", b"\n") if b"\r\n" in content else content
