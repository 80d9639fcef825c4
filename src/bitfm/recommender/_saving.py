"""A recommender in one file: its model and index, and beside them ids, columns and interactions."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from bitfm import modelfile
from bitfm.data.columns import FittedColumn, restore_column
from bitfm.data.feature_table import FeatureTable
from bitfm.data.tables import FrameKind
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError
from bitfm.models import CodeModel
from bitfm.models._saving import TABLES_PREFIX, build_model, save_model, told_of
from bitfm.recommender._fold_in import Opposite, Prior
from bitfm.recommender._log import Log
from bitfm.recommender._reading import ColumnNote
from bitfm.recommender._side import Side, Titles
from bitfm.recommender._state import CONTEXT, SEEN_FIELDS, State, field_name

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["open_recommender", "save_recommender"]

Tensors: TypeAlias = Mapping[str, npt.NDArray[Any]]
_ENTRY = "recommender"
_SETTINGS: dict[str, tuple[type, ...]] = {
    "bits": (int,),
    "history": (bool,),
    "raters": (bool,),
    "negatives": (int,),
    "random_state": (int,),
    "n_jobs": (int, type(None)),
    "verbose": (int,),
}


def save_recommender(recommender: Recommender, path: Path) -> None:
    """Write a fitted recommender."""
    state = recommender._fitted()
    tensors: dict[str, npt.NDArray[Any]] = {}
    about = {
        "user": _pack_side(state.users, tensors),
        "item": _pack_side(state.items, tensors),
        "context": _pack_columns("context", state.context, tensors),
        "priors": {name: list(prior) for name, prior in state.priors.items()},
        "unseen": {name: [o.unseen_an_event, o.unseen_anyway] for name, o in state.opposites.items()},
        "negatives": state.negatives,
        "target": state.target,
        "time": state.time,
        "frames": state.frames.value,
        "columns": [asdict(note) for note in recommender._columns],
        "notes": _notes(recommender.notes),
        "settings": {name: _plain(getattr(recommender, name), kinds) for name, kinds in _SETTINGS.items()},
    }
    _put(tensors, "log", state.log.by_user.tensors())
    for name, opposite in state.opposites.items():
        _put(tensors, f"opposite.{name}", {"moment": opposite.moment, "unseen": opposite.unseen})
    beside = {f"{TABLES_PREFIX}{name}": np.asarray(tensor) for name, tensor in tensors.items()}
    save_model(state.model, path, state.index, beside=(beside, {_ENTRY: json.dumps(about, allow_nan=False)}))


def _notes(notes: Mapping[Any, Any]) -> dict[str, str]:
    for name, text in notes.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"notes must be texts, got {name!r}: {text!r}; convert it to a string.")
    return dict(notes)


def _plain(value: Any, kinds: tuple[type, ...]) -> Any:
    """Return a setting as JSON can hold it and as it is read: ``verbose=True`` is 1."""
    return None if value is None else kinds[0](value)


def open_recommender(path: str | os.PathLike[str]) -> Recommender:
    """Open a saved recommender by memory map: in milliseconds whatever its size, shared between processes.

    Parameters
    ----------
    path : path of a file that `Recommender.save` wrote

    Raises
    ------
    ModelFileError
        If the file is damaged, holds no recommender, or comes from a newer bitfm.

    Examples
    --------
    >>> import tempfile, pathlib, bitfm
    >>> ratings = {"user_id": ["ann", "ann", "bob"], "item_id": ["tea", "milk", "tea"], "rating": [5, 2, 4]}
    >>> rec = bitfm.Recommender(bits=8).fit(ratings)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rec.save(pathlib.Path(folder) / "shop.bitfm")
    ...     opened = bitfm.open(pathlib.Path(folder) / "shop.bitfm")
    >>> opened.recommend("bob")["item"].to_list()
    ['milk']
    """
    from bitfm.recommender.recommender import Recommender

    contents = modelfile.read(path)
    if _ENTRY not in contents.metadata:
        raise ModelFileError(
            f"{os.fspath(path)} holds a model without a recommender's tables; open it with bitfm.load, or save a "
            "Recommender."
        )
    with told_of(path):
        about = _About(contents.metadata[_ENTRY])
        tables = {n.removeprefix(TABLES_PREFIX): t for n, t in contents.tensors.items() if n.startswith(TABLES_PREFIX)}
        state = _state(contents, about, tables)
        recommender = Recommender(**_settings(about.part("settings")))
        recommender._state = state
        recommender._columns = [_note(note) for note in about.items("columns")]
        notes = about.entries("notes")
        if not all(isinstance(value, str) for value in notes.values()):
            raise ModelFileError("has notes that are no texts")
        recommender.notes = notes
    return recommender


class _About:
    """The metadata of a recommender, of which every entry is checked for its type."""

    def __init__(self, text: Any) -> None:
        try:
            self._values = json.loads(text) if isinstance(text, str) else text
        except (ValueError, RecursionError):
            raise ModelFileError(f"has an entry {_ENTRY!r} that is not JSON") from None
        if not isinstance(self._values, dict):
            raise ModelFileError(f"has an entry {_ENTRY!r} of the wrong kind")

    def get(self, name: str, *kinds: type) -> Any:
        """Return an entry."""
        value = self._values.get(name)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ModelFileError(f"has a malformed entry {name!r}")
        return value

    def entries(self, name: str) -> dict[str, Any]:
        """Return an entry that has entries."""
        found: dict[str, Any] = self.get(name, dict)
        return found

    def items(self, name: str) -> list[Any]:
        """Return an entry that is a list."""
        found: list[Any] = self.get(name, list)
        return found

    def part(self, name: str) -> _About:
        """Return an entry that has entries to be checked."""
        return _About(self.entries(name))

    def number(self, name: str) -> float:
        """Return an entry that is a finite number from 0 up."""
        return _amount(name, self._values.get(name))

    def numbers(self, name: str, count: int) -> list[float]:
        """Return so many finite numbers from 0 up."""
        values = self.items(name)
        if len(values) != count:
            raise ModelFileError(f"has {len(values)} numbers as {name!r}, expected {count}")
        return [_amount(name, value) for value in values]


def _amount(name: str, value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= sys.float_info.max:
        raise ModelFileError(f"has a malformed entry {name!r}, expected a finite number from 0 up")
    return float(value)


def _state(contents: modelfile.Contents, about: _About, tables: Tensors) -> State:
    model = build_model(contents)
    if not isinstance(model, CodeModel) or model._saved_index is None or model.pairs_ != "across":
        raise ModelFileError("holds tables of a recommender without its model and index")
    users, items = (_side(name, about.part(name), tables) for name in ("user", "item"))
    context = _columns("context", about.items("context"), tables)
    _check_fields(model, users, items, context)
    index = model._saved_index
    if index.block != "item" or index._n_positions != len(items):
        raise ModelFileError(f"has an index of {index._n_positions} items, but a table of {len(items)}")
    log = Log(FeatureTable.from_tensors(len(users), len(items), _below(tables, "log")))
    try:
        frames = FrameKind(about.get("frames", str))
    except ValueError as error:
        raise ModelFileError(f"has frames of an unknown kind ({error})") from None
    return State(
        users=users,
        items=items,
        context=context,
        log=log,
        model=model,
        index=index,
        priors={name: Prior(*about.part("priors").numbers(name, 3)) for name in SEEN_FIELDS},
        opposites={name: _opposite(name, about, tables, model.bits) for name in SEEN_FIELDS},
        negatives=about.number("negatives"),
        target=about.get("target", str, type(None)),
        time=about.get("time", str, type(None)),
        frames=frames,
        n_jobs=model.n_jobs,
    )


def _settings(about: _About) -> dict[str, Any]:
    """Return the settings for another fit, and for the examples that `training_data` draws."""
    settings = {name: about.get(name, *kinds) for name, kinds in _SETTINGS.items()}
    if not 1 <= settings["negatives"] <= 1000 or settings["random_state"] < 0:
        raise ModelFileError("has settings to draw items with that no recommender has")
    return settings


def _check_fields(model: CodeModel, users: Side, items: Side, context: tuple[FittedColumn, ...]) -> None:
    """Refuse tables whose sizes and order are not those of the model's fields."""
    found = [((f.block, f.name), f.size) for f in model.fields_]
    expected = [*_fields_of(users, len(items), dict(found))]
    expected += [((CONTEXT, field_name(c.name)), c.width) for c in context]
    expected += [*_fields_of(items, len(users), dict(found))]
    if expected != found:
        raise ModelFileError(f"has fields {found}, but its tables make {expected}")


def _fields_of(side: Side, n_others: int, sizes: dict[tuple[str, str], int]) -> Iterator[tuple[tuple[str, str], int]]:
    for column in side.columns:
        yield (side.name, field_name(column.name)), column.width
    seen = side.name, SEEN_FIELDS[side.name]
    if seen in sizes:
        yield seen, min(sizes[seen], n_others)  # those who came later have no column
    yield (side.name, "id"), len(side)


def _opposite(name: str, about: _About, tables: Tensors, bits: int) -> Opposite:
    moments = _below(tables, f"opposite.{name}")
    for key in ("moment", "unseen"):
        matrix = moments.get(key)
        if matrix is None or matrix.dtype != np.float64 or matrix.shape != (bits + 2, bits + 2):
            raise ModelFileError(f"lacks the matrix {key!r} of {bits + 2} rows and columns")
        if not np.isfinite(matrix).all():
            raise ModelFileError(f"has a matrix {key!r} with values that are not numbers")
    return Opposite(moments["moment"], moments["unseen"], *about.part("unseen").numbers(name, 2))


def _pack_side(side: Side, tensors: dict[str, npt.NDArray[Any]]) -> dict[str, Any]:
    _put(tensors, f"{side.name}.ids", side.ids.tensors())
    for number, table in enumerate(side.tables):
        _put(tensors, f"{side.name}.table.{number}", table.tensors())
    if side.titles is not None:
        _put(tensors, f"{side.name}.titles", {**side.titles.texts.tensors(), "numbers": side.titles.numbers})
    return {
        "id_column": side.id_column,
        "whole_ids": side.whole_ids,
        "columns": _pack_columns(side.name, side.columns, tensors),
        "title": None if side.titles is None else side.titles.column,
    }


def _side(name: str, about: _About, tables: Tensors) -> Side:
    ids = Vocabulary.from_tensors(_below(tables, f"{name}.ids"))
    columns = _columns(name, about.items("columns"), tables)
    return Side(
        name,
        about.get("id_column", str),
        ids,
        about.get("whole_ids", bool),
        columns,
        tuple(
            FeatureTable.from_tensors(len(ids), column.width, _below(tables, f"{name}.table.{number}"))
            for number, column in enumerate(columns)
        ),
        _titles(about.get("title", str, type(None)), _below(tables, f"{name}.titles"), len(ids)),
    )


def _titles(column: str | None, tensors: Tensors, n: int) -> Titles | None:
    if column is None:
        return None
    numbers = tensors.get("numbers")
    if numbers is None or numbers.dtype != np.int32 or numbers.shape != (n,):
        raise ModelFileError(f"lacks the titles of {n} items")
    texts = Vocabulary.from_tensors({name: tensor for name, tensor in tensors.items() if name != "numbers"})
    if n and not -1 <= int(numbers.min()) <= int(numbers.max()) < len(texts):
        raise ModelFileError("has titles that it does not hold")
    return Titles(column, texts, numbers)


def _pack_columns(
    place: str, columns: tuple[FittedColumn, ...], tensors: dict[str, npt.NDArray[Any]]
) -> list[dict[str, Any]]:
    for number, column in enumerate(columns):
        _put(tensors, f"{place}.column.{number}", column.tensors())
    return [column.state() for column in columns]


def _columns(place: str, states: list[Any], tables: Tensors) -> tuple[FittedColumn, ...]:
    columns = tuple(
        restore_column(state, _below(tables, f"{place}.column.{number}")) for number, state in enumerate(states)
    )
    if len({column.name for column in columns}) < len(columns):
        raise ModelFileError("has columns that occur twice")
    return columns


def _note(values: Any) -> ColumnNote:
    about = _About(values)
    side, column, kind, why = (about.get(name, str) for name in ("side", "column", "kind", "why"))
    features = about.get("features", int)
    if not 0 <= features < 2**31:
        raise ModelFileError(f"has a column of {features} features")
    return ColumnNote(side, column, kind, why, features, about.number("missing"))


def _put(tensors: dict[str, npt.NDArray[Any]], place: str, more: Tensors) -> None:
    tensors.update({f"{place}.{name}": tensor for name, tensor in more.items()})


def _below(tables: Tensors, place: str) -> dict[str, npt.NDArray[Any]]:
    return {n.removeprefix(f"{place}."): tensor for n, tensor in tables.items() if n.startswith(f"{place}.")}
