"""What a notebook shows of a recommender."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bitfm.html import details, table

if TYPE_CHECKING:
    from bitfm.data.interactions import HeldOut
    from bitfm.recommender._state import State

__all__ = ["state_html"]


def state_html(state: State, held_out: HeldOut | None) -> str:
    """Return sizes and settings as a table and, folded up, what was made of the columns."""
    facts = {name: f"{count:,}" for name, count in state.counts.items()}
    facts["model"] = f"{state.model.kind}, {state.parameters.bits} bits, {state.parameters.n_features:,} features"
    if held_out is not None:
        facts["held out"] = f"{held_out.share:g} of each user's interactions, seed {held_out.seed}"
    columns = []
    for note in state.columns:
        missing = f"{note.missing:.1%}" if note.missing else ""
        columns.append((f"{note.side}.{note.column}", note.kind, note.features, missing, note.why))
    made = table(columns, head=("column", "kind", "features", "missing", "why"))
    return table(facts.items(), caption="Recommender") + (details(f"{len(columns)} columns", made) if columns else "")
