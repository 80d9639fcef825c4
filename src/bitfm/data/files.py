"""Files as bytes, plain or compressed with gzip, and as text."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

from bitfm.errors import DataFileError
from bitfm.validation import check_path

STANDARD_INPUT = "-"
_CHUNK_BYTES = 1 << 20


@contextlib.contextmanager
def open_raw(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, compressed with gzip or not; damage to it is an error that names it."""
    check_path(path)
    with open(path, "rb") as file, _unzipped(str(path), file) as unzipped:
        yield unzipped


@contextlib.contextmanager
def _unzipped(name: str, file: io.BufferedReader[Any]) -> Iterator[IO[bytes]]:
    try:
        zipped = file.peek(2)[:2] == b"\x1f\x8b"
        yield cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if zipped else file
    except EOFError:
        raise DataFileError(f"{name}: the compressed data ends too early; get the whole file") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataFileError(f"{name}: the compressed data is damaged ({error}); get the file again") from None


def unpacked(name: str, file: IO[bytes], size: int) -> Iterator[bytes]:
    """Yield what a compressed file or a stream holds, as long as a table of that many bytes fits into memory."""
    total, most = 0, _memory() // 4
    while chunk := file.read(size):
        total += len(chunk)
        if total > most:
            what = f"more than {most >> 20:,} MiB when unpacked, a quarter of the memory that there is"
            raise DataFileError(f"{name} holds {what}; split it, or store it as Parquet")
        yield chunk


def read_content(name: str) -> bytes:
    """Return all bytes of a file, or of standard input, unzipped."""
    if name == STANDARD_INPUT:
        stream = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
        try:
            with _unzipped("standard input", stream) as file:
                return _joined(unpacked("standard input", file, _CHUNK_BYTES))
        finally:
            stream.detach()  # or standard input would be closed
    with open_raw(Path(name)) as file:
        return _joined(unpacked(name, file, _CHUNK_BYTES)) if isinstance(file, gzip.GzipFile) else file.read()


def _joined(chunks: Iterator[bytes]) -> bytes:
    """Return one string of bytes, which never is in memory twice."""
    whole = io.BytesIO()
    whole.writelines(chunks)
    return whole.getvalue()


def _memory() -> int:
    """Return the bytes of memory of this machine, or of this process if it may have fewer."""
    sizes = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    with contextlib.suppress(ImportError):
        import resource

        sizes.append(resource.getrlimit(resource.RLIMIT_AS)[0])
    with contextlib.suppress(OSError, ValueError):  # no container, or "max"
        sizes.append(int(Path("/sys/fs/cgroup/memory.max").read_text()))
    return min(size for size in sizes if size > 0)


def as_utf8(name: str, content: bytes) -> bytes:
    r"""Return a text in UTF-8 with ``\n`` or ``\r\n`` between lines."""
    zero = content.find(b"\0", 0, 2)  # of an ASCII character in UTF-16 without a mark
    if zero >= 0 or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content = _from_utf16(name, content, ("utf-16-be", "utf-16-le", "utf-16")[zero])
    if b"\0" in content:
        raise DataFileError(f"{name} holds zero bytes and is no text; expected a table in a format that bitfm reads")
    content = content.removeprefix(codecs.BOM_UTF8)
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError as error:
            with contextlib.suppress(UnicodeDecodeError):  # UTF-8 but for halves of characters
                content.decode(errors="surrogatepass")
                raise _half(name, 1 + content.count(b"\n", 0, error.start)) from None
            content = content.decode("latin-1").encode()
    return content if b"\n" in content else content.replace(b"\r", b"\n")


def _from_utf16(name: str, content: bytes, encoding: str) -> bytes:
    try:
        return content.decode(encoding).encode()
    except UnicodeDecodeError as error:
        before = content[: error.start].decode(encoding, errors="replace")
        if before.count("\0") or content[:2] not in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return content  # something else, which has zero bytes, too
        raise _half(name, 1 + before.count("\n")) from None


def _half(name: str, line: int) -> DataFileError:
    what = "half of a character (a lone surrogate, or a file cut short), which no text can hold"
    return DataFileError(f"{name}, line {line}: {what}; write the file again as UTF-8")


def is_parquet(path: Path) -> bool:
    """Return whether a file begins as Parquet files do, or is called one."""
    with open(path, "rb") as file:
        return file.read(4) == b"PAR1" or path.suffix.lower() == ".parquet"


def not_parquet(path: Path | str, error: BaseException) -> DataFileError:
    """Return the error to raise where Polars cannot read a Parquet file."""
    return DataFileError(f"{path} cannot be read as a Parquet file ({first_line(error)}); get the whole file")


def first_line(error: BaseException) -> str:
    """Return the first line of what another library says, to quote within a sentence."""
    return cut(str(error).split("\n", 1)[0].rstrip(".:"))


def quoted(value: object) -> str:
    """Return a value as Python writes it, cut, as a text may be of any length."""
    return cut(repr(value[:100] if isinstance(value, str) else value), 80)


def cut(text: str, most: int = 200) -> str:
    """Return the beginning of a text that is longer than a sentence can quote."""
    return text if len(text) <= most else text[: most - 3] + "..."
