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
from typing import IO, Any, NamedTuple, cast

from bitfm.errors import DataFileError
from bitfm.validation import check_path

STANDARD_INPUT = "-"
_CHUNK_BYTES = 1 << 20
_NO_CONTROLS = bytes(code for code in range(256) if not 0x80 <= code < 0xA0)


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


class Decoded(NamedTuple):
    """A text in UTF-8, the encoding it was found or said to be in, and which of its lines were not in that encoding."""

    content: bytes
    encoding: str
    skipped: tuple[int, ...] = ()


def as_utf8(name: str, content: bytes, encoding: str | None = None, skip_bad: int = 0) -> Decoded:
    r"""Return a text in UTF-8 with ``\n`` or ``\r\n`` between lines.

    Without an encoding it is UTF-8, UTF-16, or else Windows-1252, or Latin-1 where that has no such characters. With
    one, up to ``skip_bad`` lines may be skipped that are not in it.
    """
    skipped: tuple[int, ...] = ()
    if encoding is not None:
        content, skipped = _from_encoding(name, content, encoding, skip_bad)
    zero = content.find(b"\0", 0, 2)  # of an ASCII character in UTF-16 without a mark
    if zero >= 0 or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        content, found = _from_utf16(name, content, ("utf-16-be", "utf-16-le", "utf-16")[zero]), "utf-16"
    else:
        found = encoding or "utf-8"
    if b"\0" in content:
        raise DataFileError(f"{name} holds zero bytes and is no text; expected a table in a format that bitfm reads")
    content = content.removeprefix(codecs.BOM_UTF8)
    if encoding is None and not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError as error:
            with contextlib.suppress(UnicodeDecodeError):  # UTF-8 but for halves of characters
                content.decode(errors="surrogatepass")
                raise _half(name, 1 + content.count(b"\n", 0, error.start)) from None
            content, found = _from_one_byte(content)
    return Decoded(content if b"\n" in content else content.replace(b"\r", b"\n"), found, skipped)


def _from_one_byte(content: bytes) -> tuple[bytes, str]:
    """Return a text of one byte per character in UTF-8; where Latin-1 has controls, Windows has quotes and €."""
    if content.translate(None, _NO_CONTROLS):
        with contextlib.suppress(UnicodeDecodeError):
            return content.decode("windows-1252").encode(), "windows-1252"
    return content.decode("latin-1").encode(), "latin-1"


def _from_encoding(name: str, content: bytes, encoding: str, skip_bad: int) -> tuple[bytes, tuple[int, ...]]:
    """Return a text in UTF-8, and the lines that were skipped as they are not in the encoding that was given."""
    try:
        codec = codecs.lookup(encoding)
        if not codec._is_text_encoding:  # noqa: SLF001 (such as rot13, which Python has too)
            raise LookupError
    except (LookupError, ValueError):
        told = f"encoding is {encoding!r}, which Python has not; expected one such as 'utf-8' or 'windows-1252'"
        raise ValueError(told) from None
    try:
        return content.decode(encoding).encode(), ()
    except UnicodeError as error:
        begin = getattr(error, "start", 0)
        line = 1 + content.count(b"\n", 0, begin)
        told = f"{name}, line {line}: not in the encoding {encoding} ({first_line(error)})"
        wide = "a\n".encode(encoding).removesuffix(b"a\n") or len("\n".encode(encoding)) > 1
        if skip_bad == 0 or wide:
            raise DataFileError(f"{told}; give the encoding it is in, or skip such lines with skip_bad=") from None
    kept, skipped = [], []
    for number, text in enumerate(content.split(b"\n"), 1):
        try:
            kept.append(text.decode(encoding).encode())
        except UnicodeError:
            skipped.append(number)
    if len(skipped) > skip_bad:
        raise DataFileError(f"{told}, nor are {len(skipped) - 1:,} others; give the encoding it is in")
    return b"\n".join(kept), tuple(skipped)


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
