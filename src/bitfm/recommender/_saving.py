"""A recommender in one file: its model and index, and beside them ids, columns and interactions."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from reprlib import repr as short  # a note may be of any length
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import msgspec
import numpy as np

from bitfm import persist
from bitfm.data.columns.kinds import FittedColumn, restore_column
from bitfm.data.feature_table import FeatureTable
from bitfm.data.interactions import HeldOut
from bitfm.data.tables import FrameKind
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError
from bitfm.parameters import CodeParameters, Parameters, Prior, SideMoments, pack_model, unpack_model
from bitfm.persist import Tensor, Tensors
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._side import CONTEXT, SEEN_FIELDS, ColumnNote, Side, Titles, field_name
from bitfm.recommender._state import State
from bitfm.retrieval import Index, pack_index, unpack_index
from bitfm.validation import is_text

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["open_recommender", "save_recommender"]

PREFIX = "tables."
_Amount = Annotated[float, msgspec.Meta(ge=0)]
_SQUARE = Tensor("float64", "square square", -np.inf)
_MOMENTS = {"second_moment": _SQUARE, "unseen": _SQUARE}


class _SideEntry(msgspec.Struct, forbid_unknown_fields=True):
    id_column: str
    integer_ids: bool
    columns: list[dict[str, Any]]
    title: str | None


class _Settings(msgspec.Struct, forbid_unknown_fields=True):
    bits: int
    history: bool
    raters: bool
    negatives: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    random_state: Annotated[int, msgspec.Meta(ge=0)]
    n_jobs: int | None
    verbose: int


class _HeldOut(msgspec.Struct, forbid_unknown_fields=True):
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    seed: Annotated[int, msgspec.Meta(ge=0)]
    rows: Annotated[int, msgspec.Meta(ge=0)]
    digest: str


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    user: _SideEntry
    item: _SideEntry
    context: list[dict[str, Any]]
    priors: dict[str, tuple[_Amount, _Amount, _Amount]]
    negatives_per: dict[str, tuple[_Amount, _Amount]]  # event and item
    negatives: _Amount
    target: str | None
    time: str | None
    frames: FrameKind
    columns: list[ColumnNote]
    notes: dict[str, str]
    user_tower: str
    held_out: _HeldOut | None
    settings: _Settings


def save_recommender(recommender: Recommender, path: str | os.PathLike[str]) -> None:
    """Write a fitted recommender."""
    state = recommender.state
    tables: dict[str, Any] = persist.put("log.", state.log.by_user.tensors())
    for name, moments in state.moments.items():
        tables |= persist.put(f"moments.{name}.", {matrix: getattr(moments, matrix) for matrix in _MOMENTS})
    hints = get_type_hints(_Settings, include_extras=True)
    settings = {name: persist.plain(name, getattr(recommender, name), hint) for name, hint in hints.items()}
    about = _Entry(
        user=_pack_side(state.users, tables),
        item=_pack_side(state.items, tables),
        context=_pack_columns("context", state.context, tables),
        priors=dict(state.priors),
        negatives_per={name: (m.negatives_per_event, m.negatives_per_item) for name, m in state.moments.items()},
        negatives=state.negatives,
        target=state.target,
        time=state.time,
        frames=state.frames,
        columns=state.columns,
        notes=_texts(recommender.notes),
        user_tower=state.user_tower,
        held_out=None if recommender.held_out is None else _HeldOut(*recommender.held_out),
        settings=_Settings(**settings),
    )
    tensors, metadata = pack_model(state.model, state.parameters)
    of_index, about_index = pack_index(state.index)
    tensors |= {**of_index, **persist.put(PREFIX, tables)}
    persist.write(path, tensors, {**metadata, **about_index, "recommender": persist.encode(about)})


def open_recommender(contents: persist.Contents) -> Recommender:
    """Return the recommender that a file holds."""
    from bitfm.recommender.recommender import Recommender

    about = persist.decode(contents.metadata, "recommender", _Entry)
    record, parameters = unpack_model(contents)
    index = unpack_index(parameters, contents)
    if not isinstance(parameters, CodeParameters) or index is None or not parameters.across:
        raise ModelFileError("holds tables of a recommender without its model and index")
    tables = persist.below(contents.tensors, PREFIX)
    users = _side("user", about.user, tables, contents.path)
    items = _side("item", about.item, tables, contents.path)
    context = _columns("context", about.context, tables)
    _check(parameters, users, items, context, index)
    of_log = persist.below(tables, "log.")
    log = InteractionMatrix(FeatureTable.from_tensors(len(users), len(items), of_log, contents.path))
    if not set(SEEN_FIELDS) == set(about.priors) == set(about.negatives_per):
        raise ModelFileError("has priors of sides that there are not")
    state = State(
        users,
        items,
        context,
        log,
        parameters,
        index,
        record,
        n_jobs=about.settings.n_jobs,
        user_tower=about.user_tower,
        negatives=about.negatives,
        target=about.target,
        time=about.time,
        frames=about.frames,
        columns=about.columns,
        priors={name: Prior(*prior) for name, prior in about.priors.items()},
        moments={name: _moments(name, about, tables, parameters) for name in SEEN_FIELDS},
    )
    if about.settings.n_jobs == 0:
        raise ModelFileError("has n_jobs = 0, expected any other whole number")
    held_out = None if about.held_out is None else HeldOut(*msgspec.structs.astuple(about.held_out))
    settings = {**msgspec.structs.asdict(about.settings), "user_tower": about.user_tower}
    return Recommender.of_state(state, about.notes, held_out, **settings)


def _texts(notes: Mapping[Any, Any]) -> dict[str, str]:
    for name, text in notes.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"notes must be texts, got {name!r}: {text!r}; convert it to a string.")
        if not is_text(name) or not is_text(text):
            told = f"notes: {short(name)}: {short(text)} has half of a surrogate pair, which is no character"
            raise ValueError(f"{told}; decode it in the encoding it was written in.")
    return dict(notes)


def _check(parameters: Parameters, users: Side, items: Side, context: tuple[FittedColumn, ...], index: Index) -> None:
    """Refuse tables whose sizes and order are not those of the model's fields, and of the index."""
    found = list(parameters.sizes.items())
    expected = [*_fields_of(users, len(items), dict(found))]
    expected += [((CONTEXT, field_name(c.name)), c.width) for c in context]
    expected += [*_fields_of(items, len(users), dict(found))]
    if expected != found:
        raise ModelFileError(f"has fields {found}, but its tables make {expected}")
    if index.block != "item" or index.n_positions != len(items):
        raise ModelFileError(f"has an index of {index.n_positions} items, but a table of {len(items)}")


def _fields_of(side: Side, n_others: int, sizes: dict[tuple[str, str], int]) -> Iterator[tuple[tuple[str, str], int]]:
    for column in side.columns:
        yield (side.name, field_name(column.name)), column.width
    seen = side.name, SEEN_FIELDS[side.name]
    if seen in sizes:
        yield seen, min(sizes[seen], n_others)  # those who came later have no column
    yield (side.name, "id"), len(side)


def _moments(name: str, about: _Entry, tables: Tensors, parameters: CodeParameters) -> SideMoments:
    matrices = persist.below(tables, f"moments.{name}.")
    persist.check_tensors(matrices, _MOMENTS, {"square": parameters.bits + 2}, prefix=f"{PREFIX}moments.{name}.")
    return SideMoments(matrices["second_moment"], matrices["unseen"], *about.negatives_per[name])


def _pack_side(side: Side, tables: dict[str, Any]) -> _SideEntry:
    tables |= persist.put(f"{side.name}.ids.", side.ids.tensors())
    for number, table in enumerate(side.tables):
        tables |= persist.put(f"{side.name}.table.{number}.", table.tensors())
    if side.titles is not None:
        tables |= persist.put(f"{side.name}.titles.", {**side.titles.texts.tensors(), "numbers": side.titles.indices})
    columns = _pack_columns(side.name, side.columns, tables)
    return _SideEntry(side.id_column, side.integer_ids, columns, None if side.titles is None else side.titles.column)


def _side(name: str, about: _SideEntry, tables: Tensors, file: str) -> Side:
    ids = Vocabulary.from_tensors(persist.below(tables, f"{name}.ids."))
    columns = _columns(name, about.columns, tables)
    parts = persist.numbered(tables, f"{name}.table.")
    rows = tuple(
        FeatureTable.from_tensors(len(ids), column.width, parts[number], file) for number, column in enumerate(columns)
    )
    titles = _titles(about.title, persist.below(tables, f"{name}.titles."), len(ids))
    return Side(name, about.id_column, ids, about.integer_ids, columns, rows, titles)


def _titles(column: str | None, tensors: dict[str, Any], n: int) -> Titles | None:
    if column is None:
        return None
    numbers = tensors.pop("numbers", None)
    texts = Vocabulary.from_tensors(tensors)
    if numbers is None:
        raise ModelFileError(f"lacks the titles of {n} items")
    Tensor("int32", "items", -1, len(texts) - 1).check("titles", numbers, {"items": n})
    return Titles(column, texts, numbers)


def _pack_columns(place: str, columns: tuple[FittedColumn, ...], tables: dict[str, Any]) -> list[dict[str, Any]]:
    for number, column in enumerate(columns):
        tables |= persist.put(f"{place}.column.{number}.", column.tensors())
    return [column.state() for column in columns]


def _columns(place: str, states: list[dict[str, Any]], tables: Tensors) -> tuple[FittedColumn, ...]:
    parts = persist.numbered(tables, f"{place}.column.")
    columns = tuple(restore_column(state, parts[number]) for number, state in enumerate(states))
    if len({column.name for column in columns}) < len(columns):
        raise ModelFileError("has columns that occur twice")
    return columns
