"""The distance of codes to a teacher over all pairs of rows, observed or not, and coordinate descent on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from bitfm.core import distill_field, distill_pairs, multiply, pack_signs, predict_codes, solve_positive, unpack_codes
from bitfm.data.blocks import Block, Blocks
from bitfm.data.feature_table import FeatureTable
from bitfm.models.solvers.block_rows import BlockRows, FewerRows, Field, columns_of, total
from bitfm.models.solvers.row_vectors import CodeVectors, RowVectors

__all__ = ["Codes", "FeatureDistillation", "RowDistillation", "mean_squares", "no_codes"]

_FIELD_WEIGHT = 0.3  # μ, below
_SCALE_ROUNDS = 10
_MOST_SCALES = 16  # of a block: those of its fields that count least share one
_LONG_ROW = 4096  # features; below, what follows is not needed
_MOST_GROWTH = 4  # of a gain, against the longest of the teacher's vectors in a field with long rows

Matrix = npt.NDArray[np.float32]


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
        self._blocks: list[BlockRows] = []
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
                vectors = RowVectors(table, factors[part], n_threads), self._code_vectors(table, part)
                fewer = FewerRows(table, weights, n_threads) if table.is_dense else None
                columns = columns_of(table) if fewer is None else fewer.columns
                fields.append(Field(number, table, columns, part, *vectors, fewer=fewer))
                if _has_long_rows(fields[-1]):  # or else the first feature makes up for what all others lack
                    fields[-1].most_gain = _MOST_GROWTH * float(self.gains[part].max())
                    self._has_long_rows = True
            self._blocks.append(BlockRows(weights, fields, n_threads))

    def sweep(self, passes: int) -> int:
        """Give every feature its best code and gain in turn; return the number of flips."""
        flips, how = 0, (passes, self._shared, self._threads)
        for rows, field, error, hessian in self._fields_in_turn():
            codes, gains = self.codes[field.features], self.gains[field.features]
            ours = error if field.fewer is None else field.fewer.error(error, self._threads)
            weights = rows.weights if field.fewer is None else field.fewer.weights
            flips += distill_field(codes, gains, ours, hessian, weights, *field.columns, *how, field.most_gain)
            if self._shared:
                gains *= self._best_scale(rows, field, error, hessian)
        return flips

    def sweep_with_data(self, trainer: Any, strength: float, passes: int) -> int:
        """Give every feature its best code for the trainer's loss + strength · N · Ω, the gains being what they are."""
        flips, how = 0, (strength, passes, self._threads)
        for _, field, error, hessian in self._fields_in_turn():
            flips += int(trainer.sweep_distilled(field.number, self.codes, self.gains, error, hessian, *how))
        return flips

    def _best_scale(self, rows: BlockRows, field: Field, error: Matrix, hessian: Matrix) -> np.float32:
        """Return by how much all gains of a field are to be scaled, after its steps."""
        vectors = self._code_vectors(field.table, field.features)[:]
        if field.fewer is not None:  # the steps were not taken along the rows
            error = error - multiply(vectors - field.code_vectors[:], hessian, self._threads)
        slopes = (np.einsum("uk,uk->u", vectors, x) for x in (error, multiply(vectors, hessian, self._threads)))
        along, curve = (float(np.sum(rows.weights * slope)) for slope in slopes)
        return np.float32(max(1 + along / curve, 0) if curve > 0 else 1)

    def _fields_in_turn(self) -> Iterator[tuple[BlockRows, Field, Matrix, Matrix]]:
        """Yield a block's rows, a field of it, Ω's error and hessian there; go on from the codes it has then.

        The error is the caller's to change.
        """
        μ = self._field_weight
        for rows in self._blocks:
            others = zip(*(other.moments for other in self._blocks if other is not rows), strict=True)
            H, C, H_field, C_field = (total(list(parts)) for parts in others)
            hessian = np.asarray((1 - μ) * H + μ * H_field, np.float32)
            if self._has_long_rows:
                hessian = _above(hessian)
            C_field = np.ascontiguousarray(C_field.T)
            target = np.empty((len(rows.weights), len(H)), np.float32)
            for part in rows.parts():
                target[part] = multiply(rows.teacher_vectors(part), C.T, self._threads)
            last = rows.fields[-1]
            spare = np.empty_like(target) if len(rows.fields) > 1 else target
            for field in rows.fields:
                error = target if field is last else spare  # both are large
                for part in rows.parts():
                    lacks = (1 - μ) * (target[part] - multiply(rows.code_vectors(part), H, self._threads))
                    wanted = multiply(field.teacher_vectors[part], C_field, self._threads)
                    lacks += μ * (wanted - multiply(field.code_vectors[part], H_field, self._threads))
                    error[part] = lacks
                yield rows, field, error, hessian
                rows.update(field, self._code_vectors(field.table, field.features))
            del target, spare, error
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

    def _pairs_of_groups(self, blocks: Blocks, groups: list[list[Field]]) -> tuple[Matrix, npt.NDArray[np.intp]]:
        """Return what each two groups of different blocks add to the scores, interactions × groups²; and the blocks."""
        owners = [(b, block) for b, block in enumerate(blocks.blocks.values()) for _ in block.tables]
        tables = [table for block in blocks.blocks.values() for table in block.tables.values()]
        parts = []
        for group in groups:
            b, block = owners[group[0].number]
            used, rows = np.unique(block.rows, return_inverse=True)
            vectors = total([self._vectors_of_rows(tables[field.number], used, field.features) for field in group])
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

    def _code_vectors(self, table: FeatureTable, part: slice) -> RowVectors:
        return RowVectors(table, CodeVectors(self.codes[part], self.gains[part]), self._threads)

    def _vectors_of_rows(self, table: FeatureTable, rows: npt.NDArray[Any], part: slice) -> Matrix:
        """Return P of some rows of a field."""
        vectors = CodeVectors(self.codes[part], self.gains[part])
        return vectors[rows] if table.identity else table.take(rows).sums(vectors[:], self._threads)


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


def _scale_groups(rows: BlockRows) -> list[list[Field]]:
    """Return the fields of a block in groups that share a scale: each alone, but the weakest of very many together."""
    if len(rows.fields) <= _MOST_SCALES:
        return [[field] for field in rows.fields]
    vectors = (field.code_vectors[:] for field in rows.fields)
    energies = [np.einsum("u,uk,uk->", rows.weights, P, P) for P in vectors]
    order = np.argsort(-np.array(energies), kind="stable")
    first, rest = order[: _MOST_SCALES - 1], order[_MOST_SCALES - 1 :]
    return [[rows.fields[i]] for i in first] + [[rows.fields[i] for i in rest]]


def _has_long_rows(field: Field) -> bool:
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
