"""``bitfm inspect``: what is in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bitfm.cli import _options as option
from bitfm.cli._config import Config, configurable
from bitfm.cli._models import model_alone, rows_of, with_percent
from bitfm.cli.screen import print_json, show

if TYPE_CHECKING:
    import numpy.typing as npt

    from bitfm import Recommender
    from bitfm.data.blocks import FieldSpan

_WEIGHTS, _GAINS = "largest weights", "largest gains"


@configurable
def inspect(
    model: option.Model = None,
    top: Annotated[int, typer.Option("--top", min=0, help="How many features of each field to show.")] = 3,
    as_json: option.Json = False,
    config: Config = None,
) -> None:
    """Show what a model file holds: users, items, fields, sizes, and what matters most.

    bitfm inspect shop.bitfm
    """
    path = model_alone(model)
    import bitfm
    from bitfm import persist

    contents = persist.read(path)
    rec = bitfm.load(path) if "recommender" in contents.metadata else None
    fitted: Any = bitfm.load(path) if rec is None else rec.model_
    facts = _facts(path, contents, fitted, rec)
    columns = [] if rec is None else rows_of(rec.describe())
    fields = [_field(rec, fitted, field, top) for field in fitted.fields_]
    sizes = _sizes(contents)
    if as_json:
        print_json({**facts, "columns": columns, "fields": fields, "bytes_by_part": sizes})
        return
    shown = {key: ", ".join(f"{a} {b}" for a, b in value.items()) if isinstance(value, dict) else value
             for key, value in facts.items()}  # fmt: skip
    show(str(path), [{"what": key, "": str(value)} for key, value in shown.items()])
    if columns:
        show("Columns", with_percent(columns))
    show("Fields", [{key: _words(it) if isinstance(it, list) else it for key, it in row.items()} for row in fields])
    show("Bytes", [{"part": part, "bytes": size} for part, size in sizes.items()])


def _words(largest: list[dict[str, Any]]) -> str:
    return "; ".join(f"{it['name']} {it['value']:+.3g}" for it in largest)


def _facts(path: Path, contents: Any, fitted: Any, rec: Recommender | None) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "file": str(path),
        "bytes": path.stat().st_size,
        "format_version": contents.version,
        "model": type(fitted).__name__,
        "features": fitted.n_features_in_,
    }
    for name in ("bits", "rank"):
        if hasattr(fitted, name):
            facts[name] = getattr(fitted, name)
    facts["bias"] = fitted.bias_
    if rec is not None:
        facts |= {"users": rec.n_users, "items": rec.n_items}
        target = rec.state.target
        facts["target"] = "none: events" if target is None else target
        facts["held_out"] = None if rec.held_out is None else str(rec.held_out)
        facts["notes"] = dict(rec.notes)
    return facts


def _field(rec: Recommender | None, fitted: Any, field: FieldSpan, top: int) -> dict[str, Any]:
    """Return a field's size, how much its codes count for, and the features with the largest weights and gains."""
    row: dict[str, Any] = {"field": f"{field.block}.{field.name}", "features": field.size}
    gains = getattr(fitted, "gains_", None)
    if gains is not None:
        row["mean gain"] = float(gains[field.start : field.stop].mean()) if field.size else 0.0
    row[_WEIGHTS] = _largest(rec, field, fitted.weights_, top)
    if gains is not None:
        row[_GAINS] = _largest(rec, field, gains, top)
    return row


def _largest(
    rec: Recommender | None, field: FieldSpan, values: npt.NDArray[Any], top: int
) -> list[dict[str, str | float]]:
    """Return the features with the largest values, either way; none is 0."""
    import numpy as np

    of_field = np.asarray(values[field.start : field.stop])
    order = np.argsort(-np.abs(of_field), kind="stable")[:top]
    return [{"name": _label(rec, field, int(f)), "value": float(of_field[f])} for f in order if of_field[f] != 0]


def _label(rec: Recommender | None, field: FieldSpan, feature: int) -> str:
    """Return a feature's name; of a plain model, its number."""
    if rec is None:
        return str(feature)
    return rec.feature_name(f"{field.block}.{field.name}", feature)


def _sizes(contents: Any) -> dict[str, int]:
    """Return the bytes of each part of a file, the largest first."""
    sizes: dict[str, int] = {}
    for name, tensor in contents.tensors.items():
        part = ".".join(name.split(".")[:2])
        sizes[part] = sizes.get(part, 0) + tensor.nbytes
    return dict(sorted(sizes.items(), key=lambda item: -item[1]))
