"""The distance of codes to a teacher over all pairs of rows, observed or not, and coordinate descent on it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import (
    distill_field,
    distill_pairs,
    eigh,
    multiply,
    pack_signs,
    predict_codes,
    solve_positive,
    unpack_codes,
)
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable

__all__ = ["Codes", "FeatureDistillation", "RowDistillation", "mean_squares", "no_codes"]

_FIELD_WEIGHT = 0.3  # μ, below
_SCALE_ROUNDS = 10
_MOST_SCALES = 16  # of a block: those of its fields that count least share one
_FEW_FIELDS = 3  # whose sum is not kept, but worked out whenever it is needed
_ROWS_AT_ONCE = 8192
_LONG_ROW = 4096  # features; below, what follows is not needed
_RANK_TOLERANCE = 1e-6
_MOST_GROWTH = 4  # of a gain, against the longest of the teacher's vectors in a field with long rows

Matrix = npt.NDArray[np.float32]


@dataclass
class _Field:
    """A field of a block, and the vectors of the block's rows in this field alone."""

    number: int
    table: FeatureTable
    columns: tuple[Any, Any, Any]  # starts, rows and values of the columns, or three times None for an identity
    features: slice
    teacher_vectors: Matrix  # p = Σ x v
    code_vectors: Matrix  # P = Σ x g b
    most_gain: float = np.inf
    fewer: _FewerRows | None = None  # of a dense field


class _FewerRows:
    """A dense field X as one with as many rows R as columns, for which descent on Ω takes the same steps.

    What a feature needs of the rows is its part of XᵀΠE, E being Ω's error, and steps change that by XᵀΠX alone. So
    with RᵀR = XᵀΠX, rows R of weight 1 and errors R⁻ᵀ XᵀΠE do: no step runs over the rows of X.
    """

    def __init__(self, table: FeatureTable, weights: Matrix, n_threads: int) -> None:
        self._weighted = (table.toarray() * weights[:, None]).astype(np.float32).T
        squares, axes = eigh(multiply(self._weighted, table.toarray(), n_threads))
        kept = squares > _RANK_TOLERANCE * squares.max(initial=0)
        self._inverse = (axes[:, kept] / np.sqrt(squares[kept])).T  # R⁻ᵀ
        rows = np.asarray(np.sqrt(squares[kept])[:, None] * axes[:, kept].T, np.float32)
        self.weights, self.columns = np.ones(len(rows), np.float32), _columns(FeatureTable.dense(rows))

    def error(self, error: Matrix, n_threads: int) -> Matrix:
        """Return the errors of the rows R."""
        return np.asarray(multiply(self._inverse, multiply(self._weighted, error, n_threads)), np.float32)


class _BlockRows:
    """The rows of a block, weighted by the share of the interactions that use them."""

    def __init__(self, weights: Matrix, fields: list[_Field], n_threads: int) -> None:
        self.weights, self.fields, self.n_threads = weights, fields, n_threads
        self.teacher_vectors = _total([f.teacher_vectors for f in fields])
        # In double precision, so that it can be kept up to date field by field: a sum of all would take fields².
        self._sums: npt.NDArray[np.float64] | None = None
        if len(fields) > _FEW_FIELDS:
            self._sums = np.sum([f.code_vectors for f in fields], axis=0, dtype=np.float64)

    @property
    def code_vectors(self) -> Matrix:
        """P of the rows, all fields together."""
        found = np.empty_like(self.fields[0].code_vectors)
        for part in self.parts():
            found[part] = self.code_vectors_of(part)
        return found

    def code_vectors_of(self, part: slice) -> Matrix:
        """Return P of some rows."""
        if self._sums is not None:
            return self._sums[part].astype(np.float32)
        total = self.fields[0].code_vectors[part].astype(np.float64)
        for field in self.fields[1:]:
            total += field.code_vectors[part]
        return total.astype(np.float32)

    def parts(self) -> Iterator[slice]:
        """Yield all rows, some at a time: what is worked out of them on the way would be large."""
        for begin in range(0, len(self.weights), _ROWS_AT_ONCE):
            yield slice(begin, begin + _ROWS_AT_ONCE)

    def update(self, field: _Field, code_vectors: Matrix) -> None:
        """Take over new codes of a field; the moments change when all are in."""
        if self._sums is not None:
            self._sums += code_vectors
            self._sums -= field.code_vectors
        field.code_vectors = code_vectors

    @cached_property
    def moments(self) -> tuple[Matrix, ...]:
        """H = Σ π P Pᵀ and C = Σ π P pᵀ, first per row, then per field; forgotten when codes change."""
        per_row = self._moments(self.code_vectors, self.teacher_vectors)
        if len(self.fields) == 1:
            return *per_row, *per_row
        per_field = [self._moments(f.code_vectors, f.teacher_vectors) for f in self.fields]
        return *per_row, *(_total(list(parts)) for parts in zip(*per_field, strict=True))

    @cached_property
    def teacher_grams(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Σ π p pᵀ per row and per field."""
        per_row = _moment(self.teacher_vectors, self.teacher_vectors, self.weights, self.n_threads)
        if len(self.fields) == 1:
            return per_row, per_row
        parts = (_moment(f.teacher_vectors, f.teacher_vectors, self.weights, self.n_threads) for f in self.fields)
        return per_row, np.asarray(sum(parts))

    def _moments(self, code_vectors: Matrix, teacher_vectors: Matrix) -> list[Matrix]:
        weighted = (self.weights[:, None] * code_vectors).T
        return [multiply(weighted, vectors, self.n_threads) for vectors in (code_vectors, teacher_vectors)]


class RowDistillation:
    """Distillation row by row: coordinate descent over codes and gains on the distance to the teacher,

        Ω = (1 − μ) Σ_{A<B} Σ_{u,i} π_u π_i (⟨p_u, q_i⟩ − ⟨P_u, Q_i⟩)²  +  μ (the same for every pair of fields)

    over the rows u, i of two blocks A, B. p and q are sums of the teacher's factors over a row's features,
    P and Q those of gain × code; π is the share of the interactions that use the row. The first part lets one feature
    make up for what another's code lacks: an id corrects its history. The second keeps every field right on its own,
    for rows that lack the others.

    Nothing runs over pairs: seen from a block's row, the others are H = Σ π Q Qᵀ and C = Σ π Q qᵀ. Every feature has a
    gain of its own, or shares one with all of its field (`shared_gains`).
    """  # noqa: D400

    def __init__(
        self,
        blocks: Blocks,
        factors: Matrix,
        bits: int,
        *,
        field_weight: float = _FIELD_WEIGHT,
        shared_gains: bool = False,
        most_rows: int | None = None,
        seed: int,
        n_threads: int,
    ) -> None:
        self._threads, self._field_weight, self._shared = n_threads, field_weight, shared_gains
        self.sampled = False  # whether some block has more than `most_rows`, of which these are a sample
        self.codes, self.gains = _initial_codes(blocks, factors, bits, seed, n_threads)
        if shared_gains:
            for field in blocks.fields:  # the quadratic mean of those that are not 0
                gains = self.gains[field.start : field.stop]
                if gains.any():
                    gains[gains > 0] = np.sqrt(np.mean(np.square(gains[gains > 0], dtype=np.float64)))
        self._blocks: list[_BlockRows] = []
        self._has_long_rows = False
        spans = iter(enumerate(blocks.fields))
        for whole in blocks.blocks.values():
            block = _sample(whole, most_rows, seed)
            self.sampled = self.sampled or block is not whole
            fields, weights = [], _shares(block).astype(np.float32)
            for table, (number, span) in zip(block.tables.values(), spans, strict=False):
                part = slice(span.start, span.stop)
                if block is not whole:
                    self.gains[part][~table.occurring(np.ones(len(table), bool))] = 0  # what the sample does not tell
                vectors = table.sums(factors[part], n_threads), self._code_vectors(table, part)
                fewer = _FewerRows(table, weights, n_threads) if table.is_dense else None
                columns = _columns(table) if fewer is None else fewer.columns
                fields.append(_Field(number, table, columns, part, *vectors, fewer=fewer))
                if _has_long_rows(fields[-1]):  # or else the first feature makes up for what all others lack
                    fields[-1].most_gain = _MOST_GROWTH * float(self.gains[part].max())
                    self._has_long_rows = True
            self._blocks.append(_BlockRows(weights, fields, n_threads))

    def sweep(self, passes: int) -> int:
        """Give every feature its best code and gain in turn; return the number of flips."""
        flips, how = 0, (passes, self._shared, self._threads)
        for rows, field, error, hessian in self._fields_in_turn():
            codes, gains = self.codes[field.features], self.gains[field.features]
            ours = error if field.fewer is None else field.fewer.error(error, self._threads)
            weights = rows.weights if field.fewer is None else field.fewer.weights
            flips += distill_field(codes, gains, ours, hessian, weights, *field.columns, *how, field.most_gain)
            if self._shared:
                vectors = self._code_vectors(field.table, field.features)
                if field.fewer is not None:  # the steps were not taken along the rows
                    error = error - multiply(vectors - field.code_vectors, hessian, self._threads)
                slopes = (np.einsum("uk,uk->u", vectors, x) for x in (error, multiply(vectors, hessian, self._threads)))
                along, curve = (float(np.sum(rows.weights * slope)) for slope in slopes)
                if curve > 0:
                    gains *= np.float32(max(1 + along / curve, 0))
        return flips

    def sweep_with_data(self, trainer: Any, strength: float, passes: int) -> int:
        """Give every feature its best code for the trainer's loss + strength · N · Ω, the gains being what they are."""
        flips, how = 0, (strength, passes, self._threads)
        for _, field, error, hessian in self._fields_in_turn():
            flips += int(trainer.sweep_distilled(field.number, self.codes, self.gains, error, hessian, *how))
        return flips

    def _fields_in_turn(self) -> Iterator[tuple[_BlockRows, _Field, Matrix, Matrix]]:
        """Yield a block's rows, a field of it, Ω's error and hessian there; go on from the codes it has then."""
        μ = self._field_weight
        for rows in self._blocks:
            others = zip(*(other.moments for other in self._blocks if other is not rows), strict=True)
            H, C, H_field, C_field = (_total(list(parts)) for parts in others)
            hessian = np.asarray((1 - μ) * H + μ * H_field, np.float32)
            if self._has_long_rows:
                hessian = _above(hessian)
            target = multiply(rows.teacher_vectors, C.T, self._threads)
            C_field = np.ascontiguousarray(C_field.T)
            for field in rows.fields:
                error = np.empty_like(target)
                for part in rows.parts():
                    lacks = (1 - μ) * (target[part] - multiply(rows.code_vectors_of(part), H, self._threads))
                    wanted = multiply(field.teacher_vectors[part], C_field, self._threads)
                    lacks += μ * (wanted - multiply(field.code_vectors[part], H_field, self._threads))
                    error[part] = lacks
                yield rows, field, error, hessian
                rows.update(field, self._code_vectors(field.table, field.features))
            rows.__dict__.pop("moments", None)

    def fit_scales(self, blocks: Blocks, residual: npt.NDArray[Any], *, spread: float) -> npt.NDArray[np.float64]:
        """Return by how much each field's gains are to be scaled to predict these residuals best.

        The scales are expected to lie within `spread` of 1, so a field that hardly counts keeps about 1.
        """
        groups = [group for rows in self._blocks for group in _scale_groups(rows)]
        pairs, owner = self._pairs_of_groups(blocks, groups)
        scales = np.ones(len(owner))
        prior = float(np.mean(residual**2)) / spread**2
        for _ in range(_SCALE_ROUNDS if prior > 0 else 0):  # without residuals there is nothing to predict
            for b in range(len(self._blocks)):
                own, others = owner == b, np.where(owner == b, 0, scales)
                slope = np.einsum("nfg,g->nf", pairs, others)  # of the score, by a field's scale
                z, fixed = slope[:, own], np.einsum("nf,f->n", slope, others) / 2
                gram = np.einsum("nf,ng->fg", z, z) + prior * np.eye(z.shape[1])
                rhs = np.einsum("nf,n->f", z, residual - fixed) + prior
                scales[own] = _solve_nonnegative(gram, rhs)
        of_fields = np.ones(sum(len(rows.fields) for rows in self._blocks))
        for group, scale in zip(groups, scales, strict=True):
            of_fields[[field.number for field in group]] = scale
        return of_fields

    def _pairs_of_groups(self, blocks: Blocks, groups: list[list[_Field]]) -> tuple[Matrix, npt.NDArray[np.intp]]:
        """Return what each two groups of different blocks add to the scores, interactions × groups²; and the blocks."""
        owners = [(b, block) for b, block in enumerate(blocks.blocks.values()) for _ in block.tables]
        tables = [table for block in blocks.blocks.values() for table in block.tables.values()]
        parts = []
        for group in groups:
            b, block = owners[group[0].number]
            used, rows = np.unique(block.rows, return_inverse=True)
            vectors = _total([self._code_vectors(tables[field.number].take(used), field.features) for field in group])
            parts.append((b, rows, vectors))
        pairs = np.zeros((len(blocks), len(parts), len(parts)), np.float32)
        for f, (a, rows, vectors) in enumerate(parts):
            for g, (b, other_rows, others) in enumerate(parts[:f]):
                if a != b:
                    pairs[:, f, g] = pairs[:, g, f] = np.einsum("nk,nk->n", vectors[rows], others[other_rows])
        return pairs, np.array([b for b, _, _ in parts])

    def objective(self) -> float:
        """Return Ω as a share of its value without codes."""
        value, reference = self.distance()
        return value / (reference or 1.0)

    def distance(self) -> tuple[float, float]:
        """Return Ω, and its value without codes."""
        value = reference = 0.0
        shares = (1 - self._field_weight, self._field_weight)
        for b, left in enumerate(self._blocks):
            for right in self._blocks[:b]:
                moments = zip(left.moments, right.moments, strict=True)
                H, C, H_field, C_field = (float(np.sum(m * n, dtype=np.float64)) for m, n in moments)
                grams = zip(left.teacher_grams, right.teacher_grams, strict=True)
                for share, (p, q), h, c in zip(shares, grams, (H, H_field), (C, C_field), strict=True):
                    teacher_energy = float(np.sum(p * q))
                    value += share * (teacher_energy - 2 * c + h)
                    reference += share * teacher_energy
        return value, reference

    def _code_vectors(self, table: FeatureTable, part: slice) -> Matrix:
        return table.sums(unpack_codes(self.codes[part]) * self.gains[part, None], self._threads)


class FeatureDistillation:
    """Distillation feature by feature, for rows that are not divided into blocks: coordinate descent on

        Ω = Σ_{i≠j} π_i π_j (⟨v_i, v_j⟩ − g_i g_j ⟨b_i, b_j⟩)²

    over all pairs of features, π being the mean square of a feature.
    """  # noqa: D400

    def __init__(self, blocks: Blocks, factors: Matrix, bits: int, *, seed: int, n_threads: int) -> None:
        self.codes, self.gains = _initial_codes(blocks, factors, bits, seed, n_threads)
        pad = -factors.shape[1] % 8
        self._factors = np.pad(factors, ((0, 0), (0, pad))) if pad else factors
        self._weights = mean_squares(blocks).astype(np.float32)
        self._fields, self._threads = len(blocks.fields), n_threads

    def sweep(self, passes: int) -> int:
        """Give every feature its best code and gain in turn; return the number of flips."""
        return distill_pairs(self.codes, self.gains, self._factors, self._weights, passes)

    def fit_scales(self, blocks: Blocks, residual: npt.NDArray[Any], *, spread: float) -> npt.NDArray[np.float64]:
        """Return by how much the gains are to be scaled, all alike, to predict these residuals best."""
        zeros = np.zeros(len(self.codes), blocks.dtype)
        pairs = predict_codes(blocks.design(), 0.0, zeros, self.codes, self.gains, False, self._threads)
        prior = float(np.mean(residual**2)) / spread**2
        total = float(np.sum(pairs * pairs)) + prior
        strength = (float(np.sum(pairs * residual)) + prior) / total if total > 0 else 1.0
        return np.full(self._fields, np.sqrt(max(strength, 0.0)))

    def objective(self) -> float:
        """Return Ω as a share of its value without codes."""
        teacher, codes = self._factors, unpack_codes(self.codes) * self.gains[:, None]
        teacher_energy, cross_term, code_energy = (
            _pairs(a, b, self._weights, self._threads)
            for a, b in ((teacher, teacher), (teacher, codes), (codes, codes))
        )
        return (teacher_energy - 2 * cross_term + code_energy) / (teacher_energy or 1.0)


class Codes(NamedTuple):
    """A code and a gain for every feature."""

    codes: npt.NDArray[np.uint8]
    gains: npt.NDArray[np.float32]


def no_codes(factors: Matrix, bits: int, seed: int, n_threads: int) -> Codes:
    """Return the signs of random projections of the teacher's vectors, and gains of 0."""
    projection = np.random.default_rng(seed).standard_normal((factors.shape[1], bits), np.float32)
    return Codes(pack_signs(multiply(factors, projection, n_threads)), np.zeros(len(factors), np.float32))


def _initial_codes(blocks: Blocks, factors: Matrix, bits: int, seed: int, n_threads: int) -> Codes:
    """Return the signs of random projections of the teacher's vectors, and gains of their lengths, 0 if unseen."""
    codes, _ = no_codes(factors, bits, seed, n_threads)
    return Codes(codes, np.sqrt(np.einsum("ij,ij->i", factors, factors) / np.float32(bits)) * blocks.occurring())


def mean_squares(blocks: Blocks) -> npt.NDArray[np.float64]:
    """Return the mean of x² of every feature over the interactions."""
    parts: list[Any] = []
    for block in blocks.blocks.values():
        tables, shares = block.tables.values(), _shares(block)
        parts += [shares if table.identity else _column_squares(table, shares) for table in tables]
    return np.concatenate(parts)


def _column_squares(table: FeatureTable, shares: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return Σ π x² of every column."""
    if table.is_dense:
        x = table.toarray()
        return np.asarray(np.einsum("r,rc,rc->c", shares, x, x))
    return np.asarray(table.to_csr().power(2).T @ shares)


def _sample(block: Block, most_rows: int | None, seed: int) -> Block:
    """Return a block of some of the interactions' rows, unless there are few; ids need all of theirs."""
    if most_rows is None or block.n_rows <= most_rows or any(table.identity for table in block.tables.values()):
        return block
    rows, places = np.unique(np.random.default_rng(seed).choice(block.rows, most_rows), return_inverse=True)
    return Block(places, {name: table.take(rows) for name, table in block.tables.items()})


def _shares(block: Block) -> npt.NDArray[np.float64]:
    """Return π, the share of the interactions that use each row."""
    return np.asarray(np.bincount(block.rows, minlength=block.n_rows) / max(len(block.rows), 1))


def _pairs(a: Any, b: Any, weight: Matrix, n_threads: int) -> float:
    """Return Σ_{i≠j} π_i π_j ⟨a_i, a_j⟩ ⟨b_i, b_j⟩."""
    moment = _moment(a, b, weight, n_threads)
    own = np.square(weight, dtype=np.float64) * np.einsum("ij,ij->i", a, a) * np.einsum("ij,ij->i", b, b)
    return float(np.sum(moment * moment) - np.sum(own))


def _solve_nonnegative(gram: npt.NDArray[np.float64], rhs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Minimise s'Gs − 2 r's over s ≥ 0, by active sets (Lawson and Hanson); not SciPy's, which asks LAPACK."""
    s, free = np.zeros(len(rhs)), np.zeros(len(rhs), bool)
    for _ in range(3 * len(rhs)):
        slope = np.where(free, 0, rhs - np.einsum("ij,j->i", gram, s))
        if slope.max() <= 1e-12 * np.abs(rhs).max():
            break
        free[slope.argmax()] = True
        while True:
            goal = np.zeros(len(rhs))
            goal[free] = solve_positive(gram[np.ix_(free, free)], rhs[free])
            if (goal >= 0).all():
                break
            back = goal < 0  # go as far as no scale becomes negative, and fix those at 0
            s += np.min(s[back] / (s[back] - goal[back])) * (goal - s)
            free &= s > 1e-15 * s.max()
            s[~free] = 0
        s = goal
    return s


def _scale_groups(rows: _BlockRows) -> list[list[_Field]]:
    """Return the fields of a block in groups that share a scale: each alone, but the weakest of very many together."""
    if len(rows.fields) <= _MOST_SCALES:
        return [[field] for field in rows.fields]
    energies = [np.einsum("u,uk,uk->", rows.weights, f.code_vectors, f.code_vectors) for f in rows.fields]
    order = np.argsort(-np.array(energies), kind="stable")
    first, rest = order[: _MOST_SCALES - 1], order[_MOST_SCALES - 1 :]
    return [[rows.fields[i]] for i in first] + [[rows.fields[i] for i in rest]]


def _columns(table: FeatureTable) -> tuple[Any, Any, Any]:
    if table.identity:
        return None, None, None
    indptr, rows, values = table.transpose().arrays()
    return indptr, rows, values.astype(np.float32)


def _has_long_rows(field: _Field) -> bool:
    return not field.table.identity and bool(np.bincount(field.columns[1]).max(initial=0) > _LONG_ROW)


def _moment(a: Matrix, b: Matrix, weights: Matrix, n_threads: int) -> npt.NDArray[np.float64]:
    """Return Σ π a bᵀ."""
    return np.asarray(multiply((a * weights[:, None]).T, b, n_threads), np.float64)


def _above(hessian: Matrix) -> Matrix:
    """Return a matrix H' above H by what rounding may have taken from it, so that it is positive definite.

    Each of a long row's features takes a step, and where H is negative, be it by the last digit, those lead ever
    farther away. Steps by H' lower a bound of Ω that touches it where they begin, so they lower Ω as well.
    """
    return hessian + np.diag(np.diag(hessian)) * np.float32(4 * len(hessian) * np.finfo(np.float32).eps)


def _total(matrices: list[Matrix]) -> Matrix:
    return matrices[0] if len(matrices) == 1 else np.asarray(sum(matrices), np.float32)
