"""Files as bytes: plain, compressed with gzip, or a member of a zip archive, and how far they have been read."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, NamedTuple, cast

from bitfm.errors import DataFileError

STANDARD_INPUT = "-"


class RawFile(NamedTuple):
    """An open file, and the share of it that has been read."""

    stream: IO[bytes]
    done: Callable[[], float]


@contextlib.contextmanager
def open_raw(path: Path, member: str | None = None) -> Iterator[RawFile]:
    """Open a file, compressed or not, or a member of a zip archive; damage to either is an error that names it."""
    name = os.fspath(path) if member is None else f"{path}, {member}"
    try:
        if member is None:
            with open(path, "rb") as file:
                zipped = file.peek(2)[:2] == b"\x1f\x8b"
                stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if zipped else file
                yield RawFile(stream, _share(file.tell, os.fstat(file.fileno()).st_size))
        else:
            with zipfile.ZipFile(path) as archive, archive.open(member) as inside:
                yield RawFile(inside, _share(inside.tell, archive.getinfo(member).file_size))
    except EOFError:
        raise DataFileError(f"{name}: the compressed data ends too early; get the whole file") from None
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error) as error:
        raise DataFileError(f"{name}: the compressed data is damaged ({error}); get the file again") from None


def read_content(name: str) -> bytes:
    """Return all bytes of a file, or of standard input, unzipped."""
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


def _share(place: Callable[[], int], size: int) -> Callable[[], float]:
    return lambda: min(1.0, place() / max(size, 1))
