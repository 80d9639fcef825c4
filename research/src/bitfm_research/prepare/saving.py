"""Prepared ratings as a folder: Parquet tables, SciPy's .npz, and a page of JSON that says what they are."""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from bitfm.atomic import sync_folder
from bitfm.errors import DataFileError

from bitfm_research.prepare.prepared import Prepared

if TYPE_CHECKING:
    import polars as pl

__all__ = ["check_target", "load", "save"]

_PAGE = "prepared.json"
_FORMAT = "bitfm-prepared"
_VERSION = 1
_LONGEST_PAGE = 1 << 24
_FIELD_NAME = re.compile(r"[A-Za-z0-9_]{1,64}")


def check_target(folder: str | os.PathLike[str]) -> None:
    """Raise an error if there is something in the folder that `save` has not written; it is not ours to replace."""
    path = Path(folder)
    if path.is_dir():
        here = {entry.name for entry in path.iterdir()}
        if here and not (_PAGE in here and here <= {_PAGE, *_read_page(path)["files"]}):
            raise FileExistsError(f"{path} exists and holds other files than prepared data; give a new folder")
    elif path.exists() or path.is_symlink():
        raise FileExistsError(f"{path} exists and is not a folder; give a new one")


def save(data: Prepared, folder: str | os.PathLike[str]) -> None:
    """Write a folder beside the target, then let it take its place."""
    path = Path(os.path.realpath(folder))
    check_target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    new, old = (path.parent / f".bitfm-{secrets.token_hex(16)}.tmp" for _ in range(2))
    new.mkdir()
    try:
        _write(data, new)
        sync_folder(new)
        try:
            if path.is_dir():  # a folder cannot be replaced in one step: step aside, and back if the other fails
                path.rename(old)
            new.rename(path)
        except BaseException:
            if old.exists():
                old.rename(path)
            raise
        sync_folder(path.parent)
        shutil.rmtree(old, ignore_errors=True)  # only now: until then it may be all there is
    finally:
        shutil.rmtree(new, ignore_errors=True)


def load(folder: str | os.PathLike[str]) -> Prepared:
    """Read a folder; what is in it is checked, not trusted."""
    path = Path(folder)
    page = _read_page(path)
    for name, digest in page["files"].items():
        if not (path / name).is_file():
            raise DataFileError(f"{path / name} is missing; prepare the data again")
        with open(path / name, "rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != digest:
                raise DataFileError(f"{path / name} is not as it was written, cut or changed; prepare the data again")
    ratings = _table(path, "ratings")
    fields = {name: _field(path, name) for name in page["fields"]}
    words = fields.pop("words", None)
    try:
        return Prepared(
            user_ids=_ids(path, "users"),
            item_ids=_ids(path, "items"),
            users=_column(path, ratings, "user", np.int32),
            items=_column(path, ratings, "item", np.int32),
            ratings=_column(path, ratings, "rating", np.float64),
            times=_column(path, ratings, "time", np.int64) if "time" in ratings.columns else None,
            item_words=words and words[0],
            words=words and words[1],
            item_fields={name: table for name, (table, _) in fields.items()},
            item_field_names={name: columns for name, (_, columns) in fields.items()},
            steps=page["steps"],
            source=page["source"],
            settings=page["settings"],
        )
    except DataFileError:
        raise
    except ValueError as error:
        raise DataFileError(f"{path} is damaged ({str(error).rstrip('.')}); prepare the data again") from None


def _write(data: Prepared, folder: Path) -> None:
    import polars as pl

    columns = {"user": data.users, "item": data.items, "rating": data.ratings}
    tables = {
        "ratings": pl.DataFrame(columns if data.times is None else {**columns, "time": data.times}),
        "users": pl.DataFrame({"id": pl.Series(data.user_ids.tolist(), dtype=pl.String)}),
        "items": pl.DataFrame({"id": pl.Series(data.item_ids.tolist(), dtype=pl.String)}),
    }
    digests = {}
    for name, (matrix, names) in data.item_tables().items():
        if not _FIELD_NAME.fullmatch(name):
            raise ValueError(f"the field {name!r} cannot be saved; name it by letters, digits and underscores")
        tables[f"item-{name}"] = pl.DataFrame({"id": pl.Series(names.tolist(), dtype=pl.String)})
        digests[f"item-{name}.npz"] = _file(folder / f"item-{name}.npz", partial(_write_matrix, matrix))
    for name, table in tables.items():
        digests[f"{name}.parquet"] = _file(folder / f"{name}.parquet", table.write_parquet)
    from bitfm import __version__

    page = {
        "format": _FORMAT,
        "version": _VERSION,
        "bitfm": __version__,
        "source": data.source,
        "settings": data.settings,
        "steps": data.steps,
        "fields": list(data.item_tables()),
        "files": digests,
    }
    _file(folder / _PAGE, lambda file: file.write((json.dumps(page, indent=2) + "\n").encode()))


def _write_matrix(matrix: sp.csr_matrix, file: IO[bytes]) -> None:
    sp.save_npz(file, matrix)


def _file(path: Path, write: Callable[[IO[bytes]], object]) -> str:
    """Write a file to the disk and return its SHA-256."""
    with open(path, "x+b") as file:
        write(file)
        file.flush()
        os.fsync(file.fileno())
        file.seek(0)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _read_page(folder: Path) -> dict[str, Any]:
    path = folder / _PAGE
    if not folder.is_dir():
        raise FileNotFoundError(f"{folder} is not a folder; give one that Prepared.save has written")
    if not path.is_file():
        raise DataFileError(f"{folder} holds no {_PAGE}; give a folder that Prepared.save has written")
    try:
        with open(path, "rb") as file:
            page = json.loads(file.read(_LONGEST_PAGE))
    except (ValueError, RecursionError):
        page = None
    if not isinstance(page, dict) or page.get("format") != _FORMAT:
        raise DataFileError(f"{path} does not describe prepared data; give a folder that Prepared.save has written")
    if page.get("version") != _VERSION:
        raise DataFileError(
            f"{path} has version {page.get('version')!r}, but this bitfm reads {_VERSION}; prepare the data again"
        )
    if not _is_whole(page):
        raise DataFileError(f"{path} is damaged; prepare the data again")
    return page


def _is_whole(page: dict[str, Any]) -> bool:
    files, fields = page.get("files"), page.get("fields")
    if not isinstance(files, dict) or not isinstance(fields, list):
        return False
    if not all(isinstance(page.get(name), dict) for name in ("source", "settings", "steps")):
        return False
    if not all(isinstance(name, str) and _FIELD_NAME.fullmatch(name) for name in fields):
        return False
    needed = {"ratings.parquet", "users.parquet", "items.parquet"}
    return set(files) == needed | {f"item-{name}.{kind}" for name in fields for kind in ("npz", "parquet")}


def _table(folder: Path, name: str) -> pl.DataFrame:
    import polars as pl

    path = folder / f"{name}.parquet"
    try:
        return pl.read_parquet(path, glob=False)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        reason = str(error).split("\n", 1)[0].rstrip(".:")
        raise DataFileError(f"{path} is damaged ({reason}); prepare the data again") from None


def _column(folder: Path, table: pl.DataFrame, name: str, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    if name not in table.columns or table[name].null_count() or table[name].to_numpy().dtype != dtype:
        raise DataFileError(f"{folder} is damaged (no proper column {name!r}); prepare the data again")
    return np.array(table[name].to_numpy())  # a copy that may be written to


def _ids(folder: Path, name: str) -> npt.NDArray[Any]:
    ids = _column(folder, _table(folder, name), "id", object)
    if len(set(ids.tolist())) != len(ids):
        raise DataFileError(f"{folder / name}.parquet is damaged (an id occurs twice); prepare the data again")
    return ids


def _field(folder: Path, name: str) -> tuple[sp.csr_matrix, npt.NDArray[Any]]:
    path = folder / f"item-{name}.npz"
    try:
        matrix = sp.load_npz(path)
        if matrix.format != "csr":
            raise ValueError(f"a matrix in {matrix.format} format")
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise DataFileError(f"{path} is damaged ({str(error).rstrip('.')}); prepare the data again") from None
    return sp.csr_matrix(matrix), _ids(folder, f"item-{name}")
