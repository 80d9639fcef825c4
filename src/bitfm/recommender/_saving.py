"""A recommender in one file: its model and index, and beside them ids, columns and interactions."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from reprlib import repr as short  # a note may be of any length
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import msgspec

from bitfm import persist
from bitfm.data.columns.kinds import FittedColumn, kind_of, restore_column, restore_kind
from bitfm.data.feature_table import FeatureTable
from bitfm.data.interactions import ColumnRoles, HeldOut
from bitfm.data.tables import FrameKind
from bitfm.data.vocabulary import Vocabulary
from bitfm.errors import ModelFileError
from bitfm.parameters import pack_model, unpack_model
from bitfm.persist import Tensor, Tensors
from bitfm.recommender._events.saving import EventEntry, open_events, pack_events
from bitfm.recommender._events.state import EventState
from bitfm.recommender._kept.saving import KeptEntry, open_kept, pack_kept
from bitfm.recommender._matrix import InteractionMatrix
from bitfm.recommender._ratings.item_sums import item_sums, sums_to_save
from bitfm.recommender._ratings.saving import RatingEntry, open_ratings, pack_ratings
from bitfm.recommender._ratings.state import RatingState
from bitfm.recommender._side import ColumnNote, Side
from bitfm.recommender._state import State
from bitfm.recommender._titles import Titles
from bitfm.retrieval import pack_index, unpack_index
from bitfm.validation import is_text

if TYPE_CHECKING:
    from bitfm.recommender.recommender import Recommender

__all__ = ["open_recommender", "save_recommender"]

PREFIX = "tables."


class _SideEntry(msgspec.Struct, forbid_unknown_fields=True):
    id_column: str
    integer_ids: bool
    columns: list[dict[str, Any]]
    title: str | None


class _Settings(msgspec.Struct, forbid_unknown_fields=True):
    bits: int | None
    history: bool
    raters: bool
    event_weights: dict[str, float] | None
    half_life: Annotated[float, msgspec.Meta(gt=0)] | None
    keep_interactions: bool
    random_state: Annotated[int, msgspec.Meta(ge=0)]
    n_jobs: int | None
    verbose: int | None


class _Declared(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    settings: dict[str, Any]


class _HeldOut(msgspec.Struct, forbid_unknown_fields=True):
    share: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    seed: Annotated[int, msgspec.Meta(ge=0)]
    rows: Annotated[int, msgspec.Meta(ge=0)]
    digest: str
    by: Literal["random", "time", "user"]


class _Roles(msgspec.Struct, forbid_unknown_fields=True):
    target: str | None
    time: str | None
    event: str | None
    weight: str | None
    decimal: Literal[".", ","] | None
    dates: Literal["dmy", "mdy"] | None
    missing: Literal["drop", "error"]


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    user: _SideEntry
    item: _SideEntry
    kept: list[KeptEntry]
    context: list[dict[str, Any]]
    roles: _Roles
    frames: FrameKind
    columns: list[ColumnNote]
    notes: dict[str, str]
    user_tower: str
    held_out: _HeldOut | None
    settings: _Settings
    ratings: RatingEntry | None  # one of the two
    events: EventEntry | None
    kinds: dict[str, _Declared] | None  # as they were declared, by column


def save_recommender(recommender: Recommender, path: str | os.PathLike[str]) -> None:
    """Write a fitted recommender."""
    state = recommender.state
    tables: dict[str, Any] = persist.put("log.", state.log.by_user.tensors(any_form=False))
    ratings = pack_ratings(state, tables) if isinstance(state, RatingState) else None
    events = pack_events(state, tables) if isinstance(state, EventState) else None
    hints = get_type_hints(_Settings, include_extras=True)
    settings = {name: persist.plain(name, getattr(recommender, name), hint) for name, hint in hints.items()}
    about = _Entry(
        user=_pack_side(state.users, tables),
        item=_pack_side(state.items, tables),
        kept=pack_kept(state.items.kept, tables),
        context=_pack_columns("context", state.context, tables),
        roles=_Roles(**{name: getattr(state.roles, name) for name in _Roles.__struct_fields__}),
        frames=state.frames,
        columns=state.columns,
        notes=_texts(recommender.notes),
        user_tower=state.user_tower,
        held_out=None if recommender.held_out is None else msgspec.convert(recommender.held_out._asdict(), _HeldOut),
        settings=_Settings(**settings),
        ratings=ratings,
        events=events,
        kinds=_pack_kinds(recommender.kinds),
    )
    tensors, metadata = pack_model(state.model, state.parameters)
    of_index, about_index = pack_index(state.index, sums_to_save(state) if isinstance(state, RatingState) else None)
    tensors |= {**of_index, **persist.put(PREFIX, tables)}
    persist.write(path, tensors, {**metadata, **about_index, "recommender": persist.encode(about)})


def open_recommender(contents: persist.Contents) -> Recommender:
    """Return the recommender that a file holds."""
    from bitfm.recommender.recommender import Recommender

    about = persist.decode(contents.metadata, "recommender", _Entry)
    record, parameters = unpack_model(contents)
    tables = persist.below(contents.tensors, PREFIX)
    users = _side("user", about.user, tables, contents.path)
    items = _side("item", about.item, tables, contents.path)
    items = replace(items, kept=open_kept(about.kept, tables, len(items), contents.path))
    context = _columns("context", about.context, tables)
    of_log = persist.below(tables, "log.")
    by_user = FeatureTable.from_tensors(len(users), len(items), of_log, contents.path, any_form=False)
    log = InteractionMatrix(by_user)
    index = unpack_index(parameters, contents, item_sums(parameters, items, log))
    if index is None or parameters.pairs != "across":
        raise ModelFileError("holds tables of a recommender without its model and index")
    roles = ColumnRoles(
        about.user.id_column,
        about.item.id_column,
        context=tuple(column.name for column in context),
        **msgspec.structs.asdict(about.roles),
    )
    known: dict[str, Any] = {
        "users": users,
        "items": items,
        "context": context,
        "log": log,
        "parameters": parameters,
        "index": index,
        "model": record,
        "n_jobs": about.settings.n_jobs,
        "user_tower": about.user_tower,
        "roles": roles,
        "frames": about.frames,
        "columns": about.columns,
    }
    state: State
    if about.ratings is not None and about.events is None and about.roles.target is not None:
        state = open_ratings(about.ratings, known, tables)
    elif about.events is not None and about.ratings is None and about.roles.target is None:
        state = open_events(about.events, known, tables, about.settings.event_weights, about.settings.half_life)
    else:
        raise ModelFileError("is neither of ratings nor of events")
    _check(state)
    if about.settings.n_jobs == 0:
        raise ModelFileError("has n_jobs = 0, expected any other whole number")
    held_out = None if about.held_out is None else HeldOut(*msgspec.structs.astuple(about.held_out))
    settings = {**msgspec.structs.asdict(about.settings), "user_tower": about.user_tower}
    if about.kinds is not None:
        settings["kinds"] = {name: restore_kind(name, it.kind, it.settings) for name, it in about.kinds.items()}
    return Recommender.of_state(state, about.notes, held_out, **settings)


def _pack_kinds(kinds: Mapping[str, Any] | None) -> dict[str, _Declared] | None:
    if kinds is None:
        return None
    declared = {name: kind_of(kind) for name, kind in kinds.items()}
    return {name: _Declared(kind.called, asdict(kind)) for name, kind in declared.items()}


def _texts(notes: Mapping[Any, Any]) -> dict[str, str]:
    for name, text in notes.items():
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError(f"notes must be texts, got {name!r}: {text!r}; convert it to a string.")
        if not is_text(name) or not is_text(text):
            told = f"notes: {short(name)}: {short(text)} has half of a surrogate pair, which is no character"
            raise ValueError(f"{told}; decode it in the encoding it was written in.")
    return dict(notes)


def _check(state: State) -> None:
    """Refuse tables whose sizes and order are not those of the model's fields, and of the index."""
    found, expected = list(state.sizes.items()), list(state.fields())
    if expected != found:
        raise ModelFileError(f"has fields {found}, but its tables make {expected}")
    if state.index.block != "item" or state.index.n_positions != len(state.items):
        raise ModelFileError(f"has an index of {state.index.n_positions} items, but a table of {len(state.items)}")


def _pack_side(side: Side, tables: dict[str, Any]) -> _SideEntry:
    tables |= persist.put(f"{side.name}.ids.", side.ids.tensors())
    for number, (column, table) in enumerate(zip(side.columns, side.tables, strict=True)):
        tables |= persist.put(f"{side.name}.table.{number}.", table.tensors(column.word_weights))
    if side.titles is not None:
        tables |= persist.put(f"{side.name}.titles.", side.titles.tensors())
    columns = _pack_columns(side.name, side.columns, tables)
    return _SideEntry(side.id_column, side.integer_ids, columns, None if side.titles is None else side.titles.column)


def _side(name: str, about: _SideEntry, tables: Tensors, file: str) -> Side:
    ids = Vocabulary.from_tensors(persist.below(tables, f"{name}.ids."))
    columns = _columns(name, about.columns, tables)
    parts = persist.numbered(tables, f"{name}.table.")
    rows = tuple(
        FeatureTable.from_tensors(len(ids), column.width, parts[number], file, column.word_weights)
        for number, column in enumerate(columns)
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
    Tensor(persist.narrow_type(len(texts)), "items", 0, len(texts)).check("titles", numbers, {"items": n})
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
