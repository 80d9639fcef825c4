// One sweep's inner loops.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

// Σ over the other blocks of their rows' q, for one interaction.
template <class Real, bool kOneOther>
BITFM_INLINE Lanes<Real> others(const RowIndex<Real>& index, int32_t s) {
    if constexpr (!kOneOther)
        if (index.n_others == 0) return Lanes<Real>::fill(0);
    auto o = Lanes<Real>::load(index.other_q[0] + int64_t(index.other_row[0][s]) * kLanes);
    if constexpr (!kOneOther)
        for (int b = 1; b < index.n_others; ++b)
            o += Lanes<Real>::load(index.other_q[b] + int64_t(index.other_row[b][s]) * kLanes);
    return o;
}

// Ask for what the visits to come will read: first where their rows are, then the rows.
template <class Real>
BITFM_INLINE void fetch_ahead(const RowIndex<Real>& index, const Real* residual, int64_t place) {
    constexpr int kFar = 24, kNear = 10;
    if (place + kFar >= index.n) return;
    const int64_t far = index.order ? index.order[place + kFar] : place + kFar;
    const int64_t near = index.order ? index.order[place + kNear] : place + kNear;
    if (index.order) __builtin_prefetch(residual + far, 1);
    for (int b = 0; b < index.n_others; ++b) {
        if (index.order) __builtin_prefetch(index.other_row[b] + far);
        __builtin_prefetch(index.other_q[b] + int64_t(index.other_row[b][near]) * kLanes);
    }
}

template <class Real>
int solve(const Quadratic<Real>& problem, const RuleInput<Real>& input, int64_t feature, Real* v, Real* delta) {
    Real g[kLanes], linear[kLanes];
    for (int t = 0; t < kLanes; ++t) g[t] = problem.gradient[t];
    for (int t = 0; t < kLanes; ++t)
        linear[t] = input.linear ? input.linear_scale * Real(input.linear[feature * input.linear_stride + t]) : Real(0);
    int changed = 0;
    for (int t = 0; t < kLanes; ++t) delta[t] = 0;
    for (int pass = 0; pass < input.passes; ++pass) {
        int changed_now = 0;
        for (int t = 0; t < kLanes; ++t) {
            const Real* column = problem.hessian + t * kLanes;
            Real num = g[t] + column[t] * v[t] + linear[t];
            Real fresh = v[t];
            if (input.rule == Rule::flip) {
                const Real size = v[t] < 0 ? -v[t] : v[t];  // 1, or a gain
                if (num != 0) fresh = num > 0 ? size : -size;
            } else {
                Real den = input.data_precision * column[t] + input.prior_precision[t];
                if (!(den > 0) || (input.noise && !(column[t] > 0))) {
                    fresh = input.prior_mean[t];  // the data say nothing: it stands for all draws
                } else {
                    fresh = (input.data_precision * num + input.precision_times_mean[t]) / den;
                    if (input.noise)
                        fresh += Real(input.noise[feature * kLanes + t]) / Real(__builtin_sqrt(double(den)));
                }
            }
            Real step = fresh - v[t];
            if (step == 0) continue;
            ++changed_now;
            v[t] = fresh;
            delta[t] += step;
            for (int u = 0; u < kLanes; ++u) g[u] -= column[u] * step;
        }
        changed += changed_now;
        if (!changed_now) break;
    }
    return changed;
}

template <class Real, bool kOneOther, bool kWeighted>
int64_t update_bare_rows(const RowIndex<Real>& index, const RuleInput<Real>& rule, Real* v, Real* residual,
                         int64_t begin, int64_t end) {
    using L = Lanes<Real>;
    int64_t changed = 0;
    for (int64_t row = begin; row < end; ++row) {
        L gram[kLanes], gradient = L::fill(0);
        for (auto& line : gram) line = L::fill(0);
        for (int64_t place = index.start[row]; place < index.start[row + 1]; ++place) {
            int32_t s = index.order ? index.order[place] : int32_t(place);
            fetch_ahead(index, static_cast<const Real*>(residual), place);
            L o = others<Real, kOneOther>(index, s);
            Real stored[kLanes];
            const Real* lane = stored;
            if constexpr (kOneOther)
                lane = index.other_q[0] + int64_t(index.other_row[0][s]) * kLanes;
            else
                o.store(stored);
            L wo = o;
            if constexpr (kWeighted) wo = o * index.weight[s];
            gradient += wo * residual[s];
            for (int t = 0; t < kLanes; ++t) gram[t] += wo * lane[t];
        }
        Quadratic<Real> problem;
        for (int t = 0; t < kLanes; ++t) gram[t].store(problem.hessian + t * kLanes);
        gradient.store(problem.gradient);
        Real delta[kLanes];
        int lanes_changed = solve(problem, rule, row, v + row * kLanes, delta);
        if (!lanes_changed) continue;
        changed += lanes_changed;
        L step = L::load(delta);
        for (int64_t place = index.start[row]; place < index.start[row + 1]; ++place) {
            int32_t s = index.order ? index.order[place] : int32_t(place);
            residual[s] -= dot(step, others<Real, kOneOther>(index, s));
        }
    }
    return changed;
}

template <class Real>
int64_t update_bare(const RowIndex<Real>& index, const RuleInput<Real>& rule, Real* v, Real* residual, int64_t begin,
                    int64_t end) {
    if (index.n_others == 1 && !index.weight)
        return update_bare_rows<Real, true, false>(index, rule, v, residual, begin, end);
    if (index.weight) return update_bare_rows<Real, false, true>(index, rule, v, residual, begin, end);
    return update_bare_rows<Real, false, false>(index, rule, v, residual, begin, end);
}

// Σ o o', Σ o and Σ e o of a row's interactions at places [from, to); Σ 1 and Σ e are added to.
template <class Real>
BITFM_INLINE void gather_places(const RowIndex<Real>& index, const Real* residual, int64_t from, int64_t to,
                                RowState<Real>& state, double& count, double& sum_e) {
    using L = Lanes<Real>;
    L gram[kLanes], sum_o = L::fill(0), sum_eo = L::fill(0);
    for (auto& line : gram) line = L::fill(0);
    for (int64_t place = from; place < to; ++place) {
        int32_t s = index.order ? index.order[place] : int32_t(place);
        fetch_ahead(index, residual, place);
        Real weight = index.weight ? index.weight[s] : Real(1);
        Real we = weight * residual[s];
        count += double(weight);
        sum_e += double(we);
        L o = others<Real, false>(index, s);
        L wo = o * weight;
        Real lane[kLanes];
        o.store(lane);
        sum_o += wo;
        sum_eo += o * we;
        for (int t = 0; t < kLanes; ++t) gram[t] += wo * lane[t];
    }
    sum_o.store(state.sum_o);
    sum_eo.store(state.sum_eo);
    for (int t = 0; t < kLanes; ++t) gram[t].store(state.sum_oo + t * kLanes);
}

// The same of a long row. Its features may be as many, each of which takes a step by G = Σ o o'; unless G is positive
// semi-definite, these lead ever farther away. Short pieces, added up in double, leave errors of at most ε √(G_tt G_uu)
// each, and a diagonal that is 8 ε larger makes up for all of them.
template <class Real>
void gather_long_row(const RowIndex<Real>& index, const Real* residual, int64_t from, int64_t to, RowState<Real>& state,
                     double& count, double& sum_e) {
    constexpr int64_t kPiece = 32;
    constexpr double kError = kPiece * (sizeof(Real) == 4 ? 0x1p-23 : 0x1p-52);
    double oo[kLanes * kLanes]{}, o[kLanes]{}, eo[kLanes]{};
    for (; from < to; from += kPiece) {
        gather_places(index, residual, from, from + kPiece < to ? from + kPiece : to, state, count, sum_e);
        for (int t = 0; t < kLanes; ++t) o[t] += double(state.sum_o[t]), eo[t] += double(state.sum_eo[t]);
        for (int t = 0; t < kLanes * kLanes; ++t) oo[t] += double(state.sum_oo[t]);
    }
    for (int t = 0; t < kLanes; ++t) oo[t * kLanes + t] *= 1 + kLanes * kError;
    for (int t = 0; t < kLanes; ++t) state.sum_o[t] = Real(o[t]), state.sum_eo[t] = Real(eo[t]);
    for (int t = 0; t < kLanes * kLanes; ++t) state.sum_oo[t] = Real(oo[t]);
}

template <class Real>
void gather_rows(const RowIndex<Real>& index, const Real* residual, RowState<Real>* states, int64_t begin,
                 int64_t end) {
    constexpr int64_t kLong = 4096;
    for (int64_t row = begin; row < end; ++row) {
        const int64_t from = index.start[row], to = index.start[row + 1];
        RowState<Real>& state = states[row];
        double count = 0, sum_e = 0;  // a float stops counting at 2^24
        if (to - from <= kLong)
            gather_places(index, residual, from, to, state, count, sum_e);
        else
            gather_long_row(index, residual, from, to, state, count, sum_e);
        state.count = Real(count);
        state.sum_e = Real(sum_e);
        state.shift = 0;
    }
}

// h_s = x (q − x v) + x o_s = a + x o_s, the derivative of the score by v.
template <class Real>
BITFM_INLINE Lanes<Real> own_share(const Real* q, Real x, const Lanes<Real>& v) {
    return (Lanes<Real>::load(q) - v * x) * x;
}

// Ask for the part of a state that is always read, some non-zeros ahead.
template <class Real>
BITFM_INLINE void fetch_state(const RowState<Real>* states, const Column<Real>& column, int64_t i) {
    constexpr int64_t kAhead = 4;
    if (i + kAhead >= column.n) return;
    const char* state = reinterpret_cast<const char*>(states + column.row[i + kAhead]);
    for (int byte = 0; byte < 10 * kLanes * int(sizeof(Real)); byte += 64) __builtin_prefetch(state + byte);
}

// A feature's problem while it is added up over rows.
template <class Real, bool kCross>
struct Collected {
    using L = Lanes<Real>;
    L values, gradient, gram[kLanes];

    BITFM_INLINE Collected(const Real* v, const Quadratic<Real>& from)
        : values(L::load(v)), gradient(L::load(from.gradient)) {
        for (int t = 0; t < kLanes; ++t) gram[t] = L::load(from.hessian + t * kLanes);
    }

    BITFM_INLINE void add(const RowState<Real>& state, Real x) {
        const Real xx = x * x;
        if constexpr (kCross) {
            gradient += L::load(state.sum_eo) * x;
            for (int t = 0; t < kLanes; ++t) gram[t] += L::load(state.sum_oo + t * kLanes) * xx;
        } else {
            L a = own_share(state.q, x, values), o = L::load(state.sum_o);
            gradient += a * state.sum_e + L::load(state.sum_eo) * x;
            // Σ h h' = (count a + x o) a' + a (x o)' + x² Σ o o', row by row
            L left = a * state.count + o * x, xo = o * x;
            Real left_lane[kLanes], a_lane[kLanes];
            left.store(left_lane);
            a.store(a_lane);
            for (int t = 0; t < kLanes; ++t)
                gram[t] += (a * left_lane[t] + xo * a_lane[t]) + L::load(state.sum_oo + t * kLanes) * xx;
        }
    }

    BITFM_INLINE void store(Quadratic<Real>* out) const {
        for (int t = 0; t < kLanes; ++t) gram[t].store(out->hessian + t * kLanes);
        gradient.store(out->gradient);
    }
};

template <class Real>
BITFM_INLINE Real value_at(const Column<Real>& column, int64_t i) {
    return column.value ? column.value[i] : Real(1);
}

template <class Real, bool kCross>
void collect_rows(const RowState<Real>* states, const Column<Real>& column, const Real* v, Quadratic<Real>* out) {
    Collected<Real, kCross> collected(v, *out);
    for (int64_t i = 0; i < column.n; ++i) {
        fetch_state(states, column, i);
        collected.add(states[column.row[i]], value_at(column, i));
    }
    collected.store(out);
}

template <class Real>
void collect_shared(const RowState<Real>* states, const Column<Real>& column, const Real* v, bool cross,
                    Quadratic<Real>* out) {
    cross ? collect_rows<Real, true>(states, column, v, out) : collect_rows<Real, false>(states, column, v, out);
}

// Carries a feature's change into one row.
template <class Real, bool kCross>
BITFM_INLINE void apply_to_row(RowState<Real>& state, Real x, const Lanes<Real>& before, const Real* delta) {
    using L = Lanes<Real>;
    L step = L::load(delta), fall = L::fill(0);
    if constexpr (!kCross) {
        L o = L::load(state.sum_o);
        Real along = dot(step, own_share(state.q, x, before));
        state.sum_e -= along * state.count + dot(step, o) * x;
        state.shift += along;
        fall = o * along;
    }
    for (int t = 0; t < kLanes; ++t) fall += L::load(state.sum_oo + t * kLanes) * (delta[t] * x);
    (L::load(state.sum_eo) - fall).store(state.sum_eo);
    (L::load(state.q) + step * x).store(state.q);
}

template <class Real, bool kCross>
void apply_rows(RowState<Real>* states, const Column<Real>& column, const Real* v, const Real* delta) {
    const auto before = Lanes<Real>::load(v);
    for (int64_t i = 0; i < column.n; ++i) {
        fetch_state(states, column, i);
        apply_to_row<Real, kCross>(states[column.row[i]], value_at(column, i), before, delta);
    }
}

template <class Real>
void apply_shared(RowState<Real>* states, const Column<Real>& column, const Real* v, const Real* delta, bool cross) {
    cross ? apply_rows<Real, true>(states, column, v, delta) : apply_rows<Real, false>(states, column, v, delta);
}

template <class Real, bool kCross>
void advance_rows(RowState<Real>* states, const Column<Real>& column, const Real* v, const Real* delta,
                  const Column<Real>& next, const Real* next_v, Quadratic<Real>* out) {
    const auto before = Lanes<Real>::load(v);
    Collected<Real, kCross> collected(next_v, *out);
    for (int64_t i = 0; i < column.n; ++i) {
        fetch_state(states, column, i);
        RowState<Real>& state = states[column.row[i]];
        apply_to_row<Real, kCross>(state, value_at(column, i), before, delta);
        collected.add(state, value_at(next, i));
    }
    collected.store(out);
}

template <class Real>
void advance_shared(RowState<Real>* states, const Column<Real>& column, const Real* v, const Real* delta,
                    const Column<Real>& next, const Real* next_v, bool cross, Quadratic<Real>* out) {
    cross ? advance_rows<Real, true>(states, column, v, delta, next, next_v, out)
          : advance_rows<Real, false>(states, column, v, delta, next, next_v, out);
}

template <class Real>
void scatter_rows(const RowIndex<Real>& index, const RowState<Real>* states, const Real* q0, Real* residual,
                  int64_t begin, int64_t end) {
    using L = Lanes<Real>;
    for (int64_t row = begin; row < end; ++row) {
        L moved = L::load(states[row].q) - L::load(q0 + row * kLanes);
        Real shift = states[row].shift;
        for (int64_t place = index.start[row]; place < index.start[row + 1]; ++place) {
            int32_t s = index.order ? index.order[place] : int32_t(place);
            fetch_ahead(index, static_cast<const Real*>(residual), place);
            residual[s] -= shift + dot(moved, others<Real, false>(index, s));
        }
    }
}

template <class Real>
BITFM_INLINE Lanes<Real> direct_slope(const Real* total, Real x, const Lanes<Real>& v, bool cross) {
    auto t = Lanes<Real>::load(total);
    return cross ? t * x : (t - v * x) * x;
}

template <class Real>
void collect_direct(const Real* total, const Real* residual, const Real* weight, const Column<Real>& column,
                    const Real* v, bool cross, Quadratic<Real>* out) {
    using L = Lanes<Real>;
    L values = L::load(v), gradient = L::load(out->gradient), gram[kLanes];
    for (int t = 0; t < kLanes; ++t) gram[t] = L::load(out->hessian + t * kLanes);
    constexpr int64_t kAhead = 16;
    for (int64_t i = 0; i < column.n; ++i) {
        if (i + kAhead < column.n) {
            __builtin_prefetch(total + column.row[i + kAhead] * int64_t(kLanes));
            __builtin_prefetch(residual + column.row[i + kAhead]);
        }
        int64_t s = column.row[i];
        L h = direct_slope(total + s * kLanes, column.value ? column.value[i] : Real(1), values, cross);
        Real lane[kLanes];
        h.store(lane);
        L wh = weight ? h * weight[s] : h;
        gradient += wh * residual[s];
        for (int t = 0; t < kLanes; ++t) gram[t] += wh * lane[t];
    }
    for (int t = 0; t < kLanes; ++t) gram[t].store(out->hessian + t * kLanes);
    gradient.store(out->gradient);
}

template <class Real>
void apply_direct(Real* total, Real* residual, const Column<Real>& column, const Real* v, const Real* delta,
                  bool cross) {
    using L = Lanes<Real>;
    L before = L::load(v), step = L::load(delta);
    for (int64_t i = 0; i < column.n; ++i) {
        int64_t s = column.row[i];
        Real x = column.value ? column.value[i] : Real(1);
        residual[s] -= dot(step, direct_slope(total + s * kLanes, x, before, cross));
        if (!cross) (L::load(total + s * kLanes) + step * x).store(total + s * kLanes);
    }
}

template <class Real>
void add_pairs(int n_blocks, const int32_t* const* row, const Real* const* q, Real* out, int64_t begin, int64_t end) {
    using L = Lanes<Real>;
    for (int64_t s = begin; s < end; ++s) {
        L total = L::load(q[0] + int64_t(row[0][s]) * kLanes), pairs = L::fill(0);
        for (int b = 1; b < n_blocks; ++b) {
            L next = L::load(q[b] + int64_t(row[b][s]) * kLanes);
            pairs += next * total;
            total += next;
        }
        out[s] += pairs.sum();
    }
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
