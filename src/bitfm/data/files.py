"""Files as bytes, plain or compressed with gzip, and as text."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, cast

from bitfm.errors import DataFileError

STANDARD_INPUT = "-"


@contextlib.contextmanager
def open_raw(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, compressed with gzip or not; damage to it is an error that names it."""
    try:
        with open(path, "rb") as file:
            zipped = file.peek(2)[:2] == b"\x1f\x8b"
            yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if zipped else file
    except EOFError:
        raise DataFileError(f"{path}: the compressed data ends too early; get the whole file") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataFileError(f"{path}: the compressed data is damaged ({error}); get the file again") from None


def read_content(name: str) -> bytes:
    """Return all bytes of a file, or of standard input, unzipped."""
    if name != STANDARD_INPUT:
        with open_raw(Path(name)) as file:
            return file.read()
    content = sys.stdin.buffer.read()
    if not content.startswith(b"\x1f\x8b"):
        return content
    try:
        return gzip.decompress(content)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataFileError(f"standard input: the compressed data is damaged ({error}); get it again") from None


def as_utf8(name: str, content: bytes) -> bytes:
    r"""Return a text in UTF-8 with ``\n`` or ``\r\n`` between lines."""
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
    return content if b"\n" in content else content.replace(b"\r", b"\n")


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet files do, or is called one."""
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1" or path.suffix.lower() == ".parquet"


def not_parquet(path: Path | str, error: BaseException) -> DataFileError:
    """Return the error to raise where Polars cannot read a Parquet file."""
    return DataFileError(f"{path} cannot be read as a Parquet file ({first_line(error)}); get the whole file")


def first_line(error: BaseException) -> str:
    """Return the first line of what another library says, to quote within a sentence."""
    return str(error).split("\n", 1)[0].rstrip(".:")
