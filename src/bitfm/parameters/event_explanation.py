"""A score of events taken apart: which past items and features brought it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

import numpy as np

from bitfm.core import solve_positive
from bitfm.data.blocks import FieldSpan
from bitfm.data.feature_table import FeatureTable
from bitfm.parameters.explanation import Explanation, FeatureShare
from bitfm.parameters.implicit import HISTORY, ImplicitParameters

__all__ = ["explain_event"]

Tables = Mapping[str, Mapping[str, FeatureTable]]


def explain_event(
    parameters: ImplicitParameters,
    history: FeatureTable,
    item: int,
    tables: Tables,
    name_of: Callable[[FieldSpan, int], str] = FieldSpan.label,
) -> Explanation:
    """Take the score of one item apart.

    A user's vector is A⁻¹ (Σ e c_i over liked items + ridge × what the features say), so each item of a history and
    each feature has a share in ⟨p, c_j⟩; an item also adds its S_ij. What is left is that of a user of whom nothing is
    known.

    Parameters
    ----------
    history : FeatureTable of one row
    item : int
    tables : mapping of block to field to FeatureTable of one row
        The features of the user, and of the context.
    """
    p, fields = parameters, {(field.block, field.name): field for field in parameters.fields}
    user_block, scale = p.fields[0].block, float(p.neighbors.scale)
    _, liked, values = history.arrays()
    target = p.items.vectors(np.array([item]))[0].astype(np.float64)
    shares: list[FeatureShare] = []
    mean = p.users.unknown.astype(np.float64)
    ridge, direction = 0.0, target  # with an empty history, p is what the features say
    if len(liked):
        own = p.items.vectors(liked).astype(np.float64)
        weights = np.abs(values).astype(np.float64)
        ridge = float(p.weights.ridge(np.array([weights.sum()], np.float32), p.n_observed)[0])
        system = np.einsum("ij,ik->jk", own * weights[:, None], own) + np.diag(p.weights.unobserved * p.gram + ridge)
        direction = solve_positive(system, target[:, None])[:, 0]
        by_vectors = scale * weights * (values > 0) * np.einsum("ij,j->i", own, direction)
        added = _added(p, history, item)
        for i, value, share in zip(liked.tolist(), values.tolist(), (by_vectors + added).tolist(), strict=True):
            field = fields[user_block, HISTORY]
            shares.append(FeatureShare(field.start + i, name_of(field, i), float(value), share))
    of_prior = ridge * direction if len(liked) else target
    known = p.user_features or not len(liked)
    bias = scale * float(np.einsum("i,i->", mean, of_prior)) if known else 0.0
    for block, of_block in tables.items():
        along = of_prior if block == user_block else target
        for name, table in of_block.items():
            field, start = fields[block, name], p.vectors_start(block, name)
            _, features, amounts = table.arrays()
            found = scale * amounts * np.einsum("ij,j->i", p.features.take(start + features).astype(np.float64), along)
            if table.is_dense:
                shares.append(FeatureShare(field.start, f"{block}.{name}", 1.0, float(found.sum())))
                continue
            shares += [
                FeatureShare(field.start + f, name_of(field, f), float(x), float(share))
                for f, x, share in zip(features.tolist(), amounts.tolist(), found.tolist(), strict=True)
            ]
    shares.sort(key=lambda share: -abs(share.contribution))
    totals: dict[str, float] = defaultdict(float)
    for share in shares:
        field = next(f for f in p.fields if f.start <= share.feature < f.stop)
        totals[f"{field.block}.{field.name}"] += share.contribution
    return Explanation(bias, shares, [], totals=dict(totals))


def _added(
    parameters: ImplicitParameters, history: FeatureTable, item: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return S_ij of each item of a history, and what a repeat counts for where it is the item itself."""
    _, liked, values = history.arrays()
    found = np.zeros(len(liked))
    for place, (source, value) in enumerate(zip(liked.tolist(), values.tolist(), strict=True)):
        if value > 0:
            _, targets, amounts = parameters.neighbors.table.row(source)
            found[place] = float(np.sum(amounts[targets == item]))
            found[place] += parameters.repeat * np.sqrt(value) * (source == item)
    return found
