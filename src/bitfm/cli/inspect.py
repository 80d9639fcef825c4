"""``bitfm inspect``: what is in a model file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._config import Config, model_alone
from bitfm.cli.screen import print_json, rows_of, show, with_percent
from bitfm.data.columns.kinds import Kind


def inspect(
    model: option.Model = None,
    top: Annotated[int, typer.Option(min=0, help="How many features of each field to show.")] = 3,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Show what a model file holds: users, items, settings, columns, fields, sizes, and what matters most.

    bitfm inspect shop.bitfm
    """
    path = model_alone(model)
    import bitfm
    from bitfm import persist

    contents = persist.read(path)
    opened: Any = bitfm.load(path)
    rec = opened if "recommender" in contents.metadata else None
    fitted = opened if rec is None else rec.model_
    facts = {"file": str(path), "bytes": path.stat().st_size, "format_version": contents.version}
    facts |= {"model": type(fitted).__name__, "features": fitted.parameters_.n_features}
    facts |= {name: getattr(fitted, name) for name in ("bits", "rank") if hasattr(fitted, name)}
    facts |= {name: getattr(fitted, f"{name}_") for name in ("bias",) if hasattr(fitted, f"{name}_")}
    if rec is not None:
        target = "none: events" if rec.state.target is None else rec.state.target
        held_out = None if rec.held_out is None else str(rec.held_out)
        facts |= {"users": rec.n_users, "items": rec.n_items, "target": target, "held_out": held_out}
        facts["notes"] = dict(rec.notes)
    settings = {"model": fitted.get_params(deep=False)}
    if rec is not None:
        settings["recommender"] = {name: _plain(value) for name, value in rec.get_params(deep=False).items()}
    columns = [] if rec is None else rows_of(rec.describe())
    fields = [_field(rec, fitted, field, top) for field in fitted.parameters_.fields]
    sizes: Counter[str] = Counter()
    for name, tensor in contents.tensors.items():
        sizes[".".join(name.split(".")[:2])] += tensor.nbytes
    if as_json:
        parts = {"columns": columns, "fields": fields, "bytes_by_part": dict(sizes.most_common())}
        print_json({**facts, "settings": settings, **parts})
        return
    notes = {"notes": ", ".join(f"{key} {text}" for key, text in rec.notes.items())} if rec is not None else {}
    show(str(path), [{"what": key, "": str(value)} for key, value in (facts | notes).items() if value is not None])
    rows = [{"of": of, "setting": name, "value": str(it)} for of, some in settings.items() for name, it in some.items()]
    show("Settings", [row for row in rows if row["value"] != "None"])
    if columns:
        show("Columns", with_percent(columns))
    show("Fields", [{key: _words(it) if isinstance(it, list) else it for key, it in row.items()} for row in fields])
    show("Bytes", [{"part": part, "bytes": size} for part, size in sizes.most_common()])


def _plain(value: Any) -> Any:
    """Return a setting as JSON can hold it: kinds by column, each by its name and settings."""
    if isinstance(value, Mapping):
        return {key: str(it) if isinstance(it, Kind) else it for key, it in value.items()}
    return value


def _words(largest: list[dict[str, Any]]) -> str:
    return "; ".join(f"{it['name']} {it['value']:+.3g}" for it in largest)


def _field(rec: Any, fitted: Any, field: Any, top: int) -> dict[str, Any]:
    """Return a field's size, how much its codes count for, and the features with the largest weights and gains."""
    name, span = f"{field.block}.{field.name}", slice(field.start, field.stop)
    row: dict[str, Any] = {"field": name, "features": field.size}
    arrays = {"weights": fitted.weights_[span]} if hasattr(fitted, "weights_") else {}
    if not arrays:
        arrays["lengths"] = fitted.parameters_.lengths(field)
    if hasattr(fitted, "gains_"):
        arrays["gains"] = fitted.gains_[span]
        row["mean gain"] = float(arrays["gains"].mean()) if field.size else 0.0
    for what, values in arrays.items():
        order = (-abs(values)).argsort(kind="stable")[:top].tolist()
        row[f"largest {what}"] = [
            {"name": str(feature) if rec is None else rec.feature_name(name, feature), "value": float(values[feature])}
            for feature in order
            if values[feature] != 0
        ]
    return row
