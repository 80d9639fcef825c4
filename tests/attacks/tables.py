"""Damaged tables, and what must be true of reading them: a frame that holds all of the file, or one sentence."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from attacks.mutators import pick
from bitfm.data import read_table
from bitfm.data.files import as_utf8, read_content
from bitfm.errors import BitfmError

FORMATS = ("csv", "jsonl", "json", "parquet")
SECONDS_PER_TABLE = 10
BY_POLARS = "ended by Polars"
TOKENS = [
    b'"', b'""', b"'", b",", b";", b"|", b"\t", b"::", b"\n", b"\r", b"\r\n", b"\\", b'\\"', b"\\n", b"\0", b"\x1f",
    b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xc3\xa9", b"\xed\xa0\x80", b" ", b"-", b"+", b".", b"e",
    b"0", b"1e400", b"nan", b"NA", b"null", b"true", b"9" * 25, b"{", b"}", b"[", b"]", b":", b"{}", b"[]", b'{"a":1}',
    b"\\u0000", b"\\ud800", b"PAR1", b"\x1f\x8b", b"a", b"b",
]  # fmt: skip
_WORDS = ["w", "so, so", 'the "end"', "é", "a\nb", "C:\\", "", "x;y|z", "::", " pad ", "1", "007", "nan", "0.5", "NA"]
_OF_NUMBERS = frozenset("0123456789+-.eEinfatyINFATYxXuloUL/")  # may be gone from a column that was read as numbers
_CONTENT = re.compile(r"[^\W_]")


@cache
def seeds(kind: str) -> list[bytes]:
    """Return whole tables of a format, in many dialects."""
    rng = np.random.default_rng(FORMATS.index(kind))
    made = []
    for place in range(32):
        texts = [[pick(rng, _WORDS) for _ in range(int(rng.integers(1, 6)))] for _ in range(2)]
        rows = [(int(rng.integers(-9, 10**6)), a, b, float(rng.random())) for a, b in zip(*texts, strict=False)]
        made.append(_written(kind, rows, place, rng))
    return made


def _written(kind: str, rows: Sequence[tuple[Any, ...]], place: int, rng: np.random.Generator) -> bytes:
    names = ["user", "title", "tags", "rating"]
    objects = [dict(zip(names, row, strict=True)) for row in rows]
    for row in objects:
        row["tags"] = [None, [row["tags"]], {"k": row["tags"]}, row["tags"]][place % 4]
    if kind == "jsonl":
        return "\n".join(json.dumps(row, ensure_ascii=bool(place % 3)) for row in objects).encode()
    if kind == "json":
        return json.dumps(objects, indent=place % 3 or None).encode()
    if kind == "parquet":
        out = io.BytesIO()
        compression = ("uncompressed", "zstd", "snappy", "gzip")[place % 4]
        pl.DataFrame(objects, strict=False).write_parquet(out, compression=compression, statistics=bool(place % 3))
        return out.getvalue()
    text = io.StringIO(newline="")
    separator, end = pick(rng, [",", ";", "|", "\t", "::"]), pick(rng, ["\n", "\r\n", "\r"])
    quoting = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, csv.QUOTE_NONE][place % 4]
    writer = csv.writer(
        text,
        delimiter=separator[0],
        lineterminator=end,
        quoting=quoting,
        doublequote=place % 8 < 4,
        escapechar="\\" if place % 8 >= 3 else None,
    )
    writer.writerow(names)
    writer.writerows(rows)
    whole = text.getvalue().replace(":", "::") if separator == "::" else text.getvalue()
    encoded = whole.encode(pick(rng, ["utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "latin-1"]))
    return gzip.compress(encoded, mtime=0) if place == 0 else encoded


def mutant(kind: str, seed: int) -> tuple[str, bytes]:
    """Return the name of a way to damage a table, and a table that was damaged so."""
    rng = np.random.default_rng(seed)
    name = pick(rng, list(_WAYS))
    raw = pick(rng, seeds(kind))
    for _ in range(pick(rng, [1, 1, 1, 2, 4])):
        raw = _WAYS[name](raw, kind, rng)
    return name, raw


def _bits(raw: bytes, _kind: str, rng: np.random.Generator) -> bytes:
    made = bytearray(raw)
    for at in rng.integers(len(made), size=pick(rng, [1, 2, 8])) if made else ():
        made[at] ^= 1 << rng.integers(8)
    return bytes(made)


def _tokens(raw: bytes, _kind: str, rng: np.random.Generator) -> bytes:
    """What has a meaning in some dialect put in, or in place of another."""
    at, gone = int(rng.integers(len(raw) + 1)), int(pick(rng, [0, 0, 1, 2]))
    return raw[:at] + pick(rng, TOKENS) * int(pick(rng, [1, 1, 2, 100])) + raw[at + gone :]


def _moved(raw: bytes, _kind: str, rng: np.random.Generator) -> bytes:
    a, b = np.sort(rng.integers(len(raw) + 1, size=2))
    at = rng.integers(len(raw) + 1)
    part = raw[a:b]
    return pick(rng, [raw[:a] + raw[b:], raw[:at] + part + raw[at:], raw[:b], raw[a:], raw[:at] + part * 9 + raw[at:]])


def _spliced(raw: bytes, kind: str, rng: np.random.Generator) -> bytes:
    other = pick(rng, seeds(kind if rng.integers(4) else pick(rng, FORMATS)))
    return raw[: rng.integers(len(raw) + 1)] + other[rng.integers(len(other) + 1) :]


def _random(raw: bytes, _kind: str, rng: np.random.Generator) -> bytes:
    at, size = int(rng.integers(len(raw) + 1)), int(pick(rng, [1, 4, 64]))
    return raw[:at] + rng.bytes(size) + raw[at + size :]


def _packed(raw: bytes, kind: str, rng: np.random.Generator) -> bytes:
    """Damage within gzip, or of it."""
    if rng.integers(2):
        return gzip.compress(_tokens(raw, kind, rng), mtime=0)
    return _bits(gzip.compress(raw, mtime=0), kind, rng)


_Way = Callable[[bytes, str, np.random.Generator], bytes]
_WAYS: dict[str, _Way] = {
    "bits": _bits, "tokens": _tokens, "moved": _moved, "spliced": _spliced, "random": _random, "packed": _packed,
}  # fmt: skip


def survives(kind: str, raw: bytes, folder: Path) -> str:
    """Read the bytes as a file of this format and say what came of it; raise what must not be."""
    path = folder / f"table.{kind}"
    path.write_bytes(raw)
    refused = ""
    try:
        frame = read_table(path)
    except BitfmError as error:
        refused = str(error)
    if refused:
        assert refused.count(str(path)) == 1, f"the error does not name the file, or does twice: {refused[:300]}"
        assert "\n" not in refused, f"more than one line: {refused[:300]!r}"
        assert len(refused) < 600, f"a sentence of {len(refused):,} characters: {refused[:300]}"
        return "refused"
    check_frame(kind, raw, path, frame)
    return "read"


def is_by_polars(said: Sequence[str]) -> bool:
    """Return whether a process died of a known bug of Polars: it asks for memory for a negative number of values."""
    return any("decode_page_validity" in line for line in said) and any("memory allocation" in line for line in said)


def trial(number: int, folder: Path) -> tuple[str, Callable[[], str]]:
    """Return a format and a way of damage, and a function that reads a table damaged so."""
    kind = FORMATS[number % len(FORMATS)]
    name, raw = mutant(kind, number)
    return f"{kind}, {name}", lambda: survives(kind, raw, folder)


def check_frame(kind: str, raw: bytes, path: Path, frame: pl.DataFrame) -> None:
    """Check that a frame can be used and that nothing of the file is missing in it."""
    assert len({len(column.to_list()) for column in frame}) <= 1
    if raw.startswith(b"PAR1") or kind == "parquet":
        return
    content = as_utf8(str(path), read_content(str(path))).content
    if content.startswith(b"PAR1"):
        return
    if kind == "csv":
        _check_cells(content.decode(), frame)
    elif not content.lstrip().startswith(b"["):
        lines = [line for line in content.split(b"\n") if line.strip()]
        assert frame.height in (len(lines), 0 if frame.width == 0 else -1), f"{frame.height} rows of {len(lines)} lines"
    else:
        there = len(json.loads(content))
        assert frame.height == there or not frame.width, f"{frame.height} rows of {there} objects"


def _check_cells(text: str, frame: pl.DataFrame) -> None:
    """Every letter and digit of the text is in some cell or name, but for those of numbers; and no other is."""
    names = [name for place, name in enumerate(frame.columns, 1) if name != f"column {place}"]
    strings = [cell for column in frame if column.dtype == pl.String for cell in column.to_list() if cell is not None]
    there = Counter(_CONTENT.findall("".join(names + strings)))
    given = Counter(_CONTENT.findall(text))
    assert not there - given, f"characters that the file does not have: {there - given}"
    lost = set(given - there)
    numeric = any(column.dtype.is_numeric() for column in frame)
    assert lost <= (_OF_NUMBERS if numeric else frozenset("0123456789column")), f"characters lost: {lost}"
    lines = [line for line in text.split("\n") if line not in ("", "\r")]
    assert frame.height <= len(lines), f"{frame.height} rows of {len(lines)} lines"
    if '"' not in text and "\\" not in text:
        full = [line for line in lines if _CONTENT.search(line)]
        assert frame.height >= len(full) - 1, f"{frame.height} rows of {len(full)} lines"
