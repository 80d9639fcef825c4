"""Codes and gains that say what a real-valued teacher says, about all pairs of rows, seen or not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import anchor_field, anchor_pairs, pack_signs, predict_codes, single_blas_thread, unpack_codes
from bitfm.data.blocks import Blocks
from bitfm.data.feature_table import FeatureTable

__all__ = ["FeatureAnchor", "RowAnchor", "mean_squares"]

_OWN_SHARE = 0.3  # μ, below
_SCALE_ROUNDS = 10

Matrix = npt.NDArray[np.float32]


@dataclass
class _Field:
    number: int
    table: FeatureTable
    columns: tuple[Any, Any, Any]  # starts, rows and values of the columns, or three times None for an identity
    features: slice
    teacher: Matrix  # Σ x v of the rows, in this field alone
    ours: Matrix  # Σ x g b


class _Moments(NamedTuple):
    """What the rows of a block are to the others, as wholes or summed over their fields."""

    ours: Matrix  # H = Σ π P Pᵀ
    cross: Matrix  # C = Σ π P pᵀ


class _Side:
    """The rows of a block, weighted by the share of the interactions that use them."""

    def __init__(self, weights: Matrix, fields: list[_Field]) -> None:
        self.weights, self.fields = weights, fields
        self.teacher = _total([f.teacher for f in fields])
        self._moments: tuple[_Moments, _Moments] | None = None
        self._said: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None

    @property
    def ours(self) -> Matrix:
        return _total([f.ours for f in self.fields])

    def moments(self) -> tuple[_Moments, _Moments]:
        """Return the moments of whole rows, and the sum over fields on their own."""
        if self._moments is None:
            whole = self._of(self.ours, self.teacher)
            parts = [self._of(f.ours, f.teacher) for f in self.fields] if len(self.fields) > 1 else [whole]
            single = _Moments(_total([m.ours for m in parts]), _total([m.cross for m in parts]))
            self._moments = whole, single
        return self._moments

    def said(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Return Σ π p pᵀ of whole rows, and the sum over fields on their own."""
        if self._said is None:
            parts = [f.teacher for f in self.fields] if len(self.fields) > 1 else []
            whole, *single = (_moment(p, p, self.weights) for p in (self.teacher, *parts))
            self._said = whole, sum(single, start=np.zeros_like(whole)) if single else whole
        return self._said

    def forget(self) -> None:
        """Codes have changed."""
        self._moments = None

    def _of(self, ours: Matrix, teacher: Matrix) -> _Moments:
        weighted = (self.weights[:, None] * ours).T
        return _Moments(np.asarray(weighted @ ours, np.float32), np.asarray(weighted @ teacher, np.float32))


class RowAnchor:
    """Anchors codes to a teacher, row by row: a coordinate descent over codes and gains that lowers

        Ω = (1 − μ) Σ_{A<B} Σ_{u,i} π_u π_i (⟨p_u, q_i⟩ − ⟨P_u, Q_i⟩)²  +  μ (the same for every pair of fields)

    over the rows u, i of two blocks A, B. p and q are sums of the teacher's factors over a row's features,
    P = Σ x g b ours; π is the share of the interactions that use the row. The first part lets one feature make up
    for what another's code lacks: an id corrects its history. The second keeps every field right on its own, for rows
    that lack the others.

    Nothing runs over pairs. Seen from a block's row, the others are H = Σ π Q Qᵀ and C = Σ π Q qᵀ.

    Every feature has a gain of its own, or shares one with all of its field (`shared_gains`).
    """  # noqa: D400

    def __init__(
        self,
        blocks: Blocks,
        factors: Matrix,
        bits: int,
        *,
        own_share: float = _OWN_SHARE,
        shared_gains: bool = False,
        seed: int,
        n_threads: int,
    ) -> None:
        self._threads, self._own, self._shared = n_threads, own_share, shared_gains
        self.codes, self.gains = _start(blocks, factors, bits, seed)
        if shared_gains:
            for field in blocks.fields:
                _level(self.gains[field.start : field.stop])
        self._sides: list[_Side] = []
        first = number = 0
        for block in blocks.blocks.values():
            share = np.bincount(block.rows, minlength=block.n_rows) / max(len(block.rows), 1)
            fields = []
            for table in block.tables.values():
                part = slice(first, first + table.n_columns)
                teacher, ours = table.sums(factors[part]), self._ours(table, part)
                fields.append(_Field(number, table, _columns(table), part, teacher, ours))
                first, number = part.stop, number + 1
            self._sides.append(_Side(share.astype(np.float32), fields))

    def sweep(self, passes: int) -> int:
        """Give every feature its best code and gain in turn; return the number of flips."""

        def update(side: _Side, field: _Field, error: Matrix, hessian: Matrix) -> int:
            codes, gains = self.codes[field.features], self.gains[field.features]
            flips = anchor_field(
                codes, gains, error, hessian, side.weights, *field.columns, passes, self._shared, self._threads
            )
            if self._shared:
                ours = self._ours(field.table, field.features)
                along, curve = (float(side.weights @ np.einsum("uk,uk->u", ours, x)) for x in (error, ours @ hessian))
                if curve > 0:
                    gains *= np.float32(max(1 + along / curve, 0))
            return flips

        return self._each_field(update)

    def sweep_with_data(self, trainer: Any, strength: float, passes: int) -> int:
        """Give every feature its best code for the trainer's loss + strength · N · Ω, the gains being what they are."""

        def update(_: _Side, field: _Field, error: Matrix, hessian: Matrix) -> int:
            flips = trainer.sweep_anchored(
                field.number, self.codes, self.gains, error, hessian, strength, passes, self._threads
            )
            return int(flips)

        return self._each_field(update)

    def _each_field(self, update: Callable[[_Side, _Field, Matrix, Matrix], int]) -> int:
        """Call update(side, field, error, hessian) for one field after another; return the sum of the flips."""
        flips = 0
        with single_blas_thread():
            for side in self._sides:
                whole, single = self._seen_from(side)
                hessian = np.asarray((1 - self._own) * whole.ours + self._own * single.ours, np.float32)
                wanted = side.teacher @ whole.cross.T
                for field in side.fields:
                    error = (1 - self._own) * (wanted - side.ours @ whole.ours)
                    error += self._own * (field.teacher @ single.cross.T - field.ours @ single.ours)
                    flips += update(side, field, np.asarray(error, np.float32), hessian)
                    field.ours = self._ours(field.table, field.features)
                side.forget()
        return flips

    def fit_scales(self, blocks: Blocks, residual: npt.NDArray[Any], *, spread: float) -> npt.NDArray[np.float64]:
        """Return by how much each field's gains are to be scaled to predict these residuals best.

        The scales are expected to lie within `spread` of 1, so a field that hardly counts keeps about 1.
        """
        pairs, owner = self._pairs_of_fields(blocks)
        scales = np.ones(len(owner))
        prior = float(np.mean(residual**2)) / spread**2
        for _ in range(_SCALE_ROUNDS):
            for b in range(len(self._sides)):
                own, others = owner == b, np.where(owner == b, 0, scales)
                seen = np.einsum("nfg,g->nf", pairs, others)  # what a field's rows meet
                z, among = seen[:, own], np.einsum("nf,f->n", seen, others) / 2
                gram = np.einsum("nf,ng->fg", z, z) + prior * np.eye(z.shape[1])
                pull = np.einsum("nf,n->f", z, residual - among) + prior
                scales[own] = _solve_positive(gram, pull, scales[own])
        return scales

    def _pairs_of_fields(self, blocks: Blocks) -> tuple[Matrix, npt.NDArray[np.intp]]:
        """Return what each two fields of different blocks add to the scores, interactions × fields²; and the blocks.

        The blocks may have other rows than those the codes were fitted to.
        """
        fields = [
            (b, block.rows, self._ours(table, field.features))
            for b, (side, block) in enumerate(zip(self._sides, blocks.blocks.values(), strict=True))
            for field, table in zip(side.fields, block.tables.values(), strict=True)
        ]
        pairs = np.zeros((len(blocks), len(fields), len(fields)), np.float32)
        for f, (a, rows, ours) in enumerate(fields):
            for g, (b, other_rows, others) in enumerate(fields[:f]):
                if a != b:
                    pairs[:, f, g] = pairs[:, g, f] = np.einsum("nk,nk->n", ours[rows], others[other_rows])
        return pairs, np.array([b for b, _, _ in fields])

    def objective(self) -> float:
        """Return Ω as a share of its value for codes that say nothing."""
        value, reference = self.disagreement()
        return value / (reference or 1.0)

    def disagreement(self) -> tuple[float, float]:
        """Return Ω, and what it would be for codes that say nothing."""
        value = reference = 0.0
        with single_blas_thread():
            for b, left in enumerate(self._sides):
                for right in self._sides[:b]:
                    shares = (1 - self._own, self._own)
                    for share, said, m, n in zip(
                        shares,
                        zip(left.said(), right.said(), strict=True),
                        left.moments(),
                        right.moments(),
                        strict=True,
                    ):
                        everything = float(np.sum(said[0] * said[1]))
                        both = float(np.sum(m.cross * n.cross, dtype=np.float64))
                        by_us = float(np.sum(m.ours * n.ours, dtype=np.float64))
                        value += share * (everything - 2 * both + by_us)
                        reference += share * everything
        return value, reference

    def _seen_from(self, side: _Side) -> tuple[_Moments, _Moments]:
        """Return the moments of the other blocks' rows."""
        others = [other.moments() for other in self._sides if other is not side]
        whole, single = (
            _Moments(_total([m[i].ours for m in others]), _total([m[i].cross for m in others])) for i in (0, 1)
        )
        return whole, single

    def _ours(self, table: FeatureTable, part: slice) -> Matrix:
        return table.sums(unpack_codes(self.codes[part]) * self.gains[part, None])


class FeatureAnchor:
    """Anchors codes to a teacher, feature by feature, for rows that are not taken apart into blocks: lowers

        Ω = Σ_{i≠j} π_i π_j (⟨v_i, v_j⟩ − g_i g_j ⟨b_i, b_j⟩)²

    over all pairs of features, π being the mean square of a feature.
    """  # noqa: D400

    def __init__(self, blocks: Blocks, factors: Matrix, bits: int, *, seed: int, n_threads: int) -> None:
        self.codes, self.gains = _start(blocks, factors, bits, seed)
        pad = -factors.shape[1] % 8
        self._factors = np.pad(factors, ((0, 0), (0, pad))) if pad else factors
        self._weights = mean_squares(blocks).astype(np.float32)
        self._fields, self._threads = len(blocks.fields), n_threads

    def sweep(self, passes: int) -> int:
        """Give every feature its best code and gain in turn; return the number of flips."""
        return anchor_pairs(self.codes, self.gains, self._factors, self._weights, passes)

    def fit_scales(self, blocks: Blocks, residual: npt.NDArray[Any], *, spread: float) -> npt.NDArray[np.float64]:
        """Return by how much the gains are to be scaled, all alike, to predict these residuals best."""
        zeros = np.zeros(len(self.codes), blocks.dtype)
        design = blocks.design()
        pairs = predict_codes(design, 0.0, zeros, self.codes, self.gains, False, self._threads)
        prior = float(np.mean(residual**2)) / spread**2
        total = float(np.sum(pairs * pairs)) + prior
        strength = (float(np.sum(pairs * residual)) + prior) / total if total > 0 else 1.0
        return np.full(self._fields, np.sqrt(max(strength, 0.0)))

    def objective(self) -> float:
        """Return Ω as a share of its value for codes that say nothing."""
        ours = unpack_codes(self.codes) * self.gains[:, None]
        with single_blas_thread():
            said = _pairs(self._factors, self._factors, self._weights)
            return (said - 2 * _pairs(self._factors, ours, self._weights) + _pairs(ours, ours, self._weights)) / (
                said or 1.0
            )


def _start(
    blocks: Blocks, factors: Matrix, bits: int, seed: int
) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.float32]]:
    """Return the signs of random projections of the teacher's vectors, and gains of the same length.

    Of features that never occur the teacher knows nothing; their gain is 0.
    """
    with single_blas_thread():
        turn = np.random.default_rng(seed).standard_normal((factors.shape[1], bits), np.float32)
        codes = pack_signs(factors @ turn)
    return codes, np.sqrt(np.einsum("ij,ij->i", factors, factors) / np.float32(bits)) * blocks.occurring()


def _level(gains: npt.NDArray[np.float32]) -> None:
    """Give all gains that are not 0 their quadratic mean."""
    some = gains > 0
    if some.any():
        gains[some] = np.sqrt(np.mean(np.square(gains[some], dtype=np.float64)))


def mean_squares(blocks: Blocks) -> npt.NDArray[np.float64]:
    """Return the mean of x² of every feature over the interactions."""
    parts = []
    for block in blocks.blocks.values():
        share = np.bincount(block.rows, minlength=block.n_rows) / max(len(block.rows), 1)
        parts += [
            share if table.identity else np.asarray(table.to_csr().power(2).T @ share)
            for table in block.tables.values()
        ]
    return np.concatenate(parts)


def _pairs(a: Any, b: Any, weight: Matrix) -> float:
    """Return Σ_{i≠j} π_i π_j ⟨a_i, a_j⟩ ⟨b_i, b_j⟩."""
    moment = _moment(a, b, weight)
    own = np.square(weight, dtype=np.float64) * np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b)
    return float(np.sum(moment * moment) - np.sum(own))


def _solve_positive(
    gram: npt.NDArray[np.float64], pull: npt.NDArray[np.float64], start: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Minimise s'Gs − 2 p's over s ≥ 0, by coordinate descent."""
    s = start.copy()
    for _ in range(50):
        for f in range(len(s)):
            if gram[f, f] > 0:
                s[f] = max(0.0, s[f] + (pull[f] - gram[f] @ s) / gram[f, f])
    return s


def _columns(table: FeatureTable) -> tuple[Any, Any, Any]:
    if table.identity:
        return None, None, None
    indptr, rows, values = table.transpose().arrays()
    return indptr, rows, values.astype(np.float32)


def _moment(a: Matrix, b: Matrix, weights: Matrix) -> npt.NDArray[np.float64]:
    """Return Σ π a bᵀ."""
    return np.asarray((a * weights[:, None]).T @ b, np.float64)


def _total(matrices: list[Matrix]) -> Matrix:
    return matrices[0] if len(matrices) == 1 else np.asarray(sum(matrices), np.float32)
