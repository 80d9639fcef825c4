#include "solvers/group_sweep.hpp"

#include <algorithm>
#include <atomic>

#include "base/isa.hpp"

namespace bitfm {

namespace {

// A long column is gathered in pieces of this size, added up in order, so that threads may share it.
constexpr int64_t kPiece = 2048;
// A one-hot field with at least this many columns is worth spreading over the threads column by column.
constexpr int64_t kManyColumns = 256;

template <class Real>
void add(Quadratic<Real>& to, const Quadratic<Real>& part) {
    for (int i = 0; i < kLanes * kLanes; ++i) to.hessian[i] += part.hessian[i];
    for (int i = 0; i < kLanes; ++i) to.gradient[i] += part.gradient[i];
}

template <class Real>
Column<Real> piece_of(const Column<Real>& column, int64_t begin, int64_t end) {
    return {column.row + begin, column.value ? column.value + begin : nullptr, end - begin};
}

// The rows of a block while its fields are swept: shared by interactions ...
template <class Real>
struct SharedRows {
    const SweepKernels<Real>& kernels;
    RowState<Real>* states;
    bool cross;
    void collect(const Column<Real>& column, const Real* v, Quadratic<Real>* out) const {
        kernels.collect_shared(states, column, v, cross, out);
    }
    void apply(const Column<Real>& column, const Real* v, const Real* delta) {
        kernels.apply_shared(states, column, v, delta, cross);
    }
    void advance(const Column<Real>& column, const Real* v, const Real* delta, const Column<Real>& next,
                 const Real* next_v, Quadratic<Real>* out) {
        kernels.advance_shared(states, column, v, delta, next, next_v, cross, out);
    }
};

// ... or interactions themselves.
template <class Real>
struct DirectRows {
    const SweepKernels<Real>& kernels;
    Real* total;
    Real* residual;
    const Real* weight;
    bool cross;
    void collect(const Column<Real>& column, const Real* v, Quadratic<Real>* out) const {
        kernels.collect_direct(total, residual, weight, column, v, cross, out);
    }
    void apply(const Column<Real>& column, const Real* v, const Real* delta) {
        kernels.apply_direct(total, residual, column, v, delta, cross);
    }
    void advance(const Column<Real>& column, const Real* v, const Real* delta, const Column<Real>& next,
                 const Real* next_v, Quadratic<Real>* out) {
        apply(column, v, delta);
        collect(next, next_v, out);
    }
};

}  // namespace

template <class Real>
GroupSweep<Real>::GroupSweep(Team& team, Residuals<Real>& residuals)
    : set_(residuals.set()),
      cross_(residuals.cross()),
      residual_(residuals.write(team)),
      weight_(residuals.weight_or_null()),
      v_(set_.design.n_features * kLanes),
      rows_(set_.blocks.size()),
      q_(set_.blocks.size()),
      other_row_(set_.blocks.size()),
      other_q_(set_.blocks.size()) {
    const size_t n_blocks = set_.blocks.size();
    for (size_t b = 0; b < n_blocks; ++b) {
        const Block& block = set_.design.blocks[b];
        if (set_.blocks[b].bare) {
            q_[b] = values(set_.design.fields[block.first_field].first);
        } else {
            rows_[b].resize(block.n_rows * kLanes);
            q_[b] = rows_[b].data();
        }
    }
    for (size_t b = 0; b < n_blocks; ++b)
        for (size_t c = 0; c < n_blocks; ++c)
            if (c != b) {
                other_row_[b].push_back(set_.blocks[c].row_of.data());
                other_q_[b].push_back(q_[c]);
            }
}

template <class Real>
RowIndex<Real> GroupSweep<Real>::row_index(size_t block) const {
    const auto& index = set_.blocks[block];
    return {.n = set_.size(),
            .start = index.start.data(),
            .order = index.order.empty() ? nullptr : index.order.data(),
            .weight = weight_,
            .n_others = static_cast<int>(other_row_[block].size()),
            .other_row = other_row_[block].data(),
            .other_q = other_q_[block].data()};
}

// Σ x v of a block's rows, from the group's current values.
template <class Real>
void GroupSweep<Real>::sum_rows(Team& team, size_t block) {
    const Block& of = set_.design.blocks[block];
    team.run(of.n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) {
            Real* q = rows_[block].data() + row * kLanes;
            std::fill_n(q, kLanes, Real(0));
            each_feature(set_.design, block, row, [&](int64_t feature, Real x) {
                const Real* v = values(feature);
                for (int t = 0; t < kLanes; ++t) q[t] += x * v[t];
            });
        }
    });
}

template <class Real>
void GroupSweep<Real>::load(Team& team, const FactorView& factors, int which) {
    team.run(set_.design.n_features, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i) factors.load(i, which, values(i));
    });
    for (size_t b = 0; b < set_.blocks.size(); ++b)
        if (!set_.blocks[b].bare) sum_rows(team, b);
}

template <class Real>
int64_t GroupSweep<Real>::sweep_bare(Team& team, size_t block, RuleInput<Real> rule, const Prior& prior) {
    const Block& of = set_.design.blocks[block];
    const int64_t first = set_.design.fields[of.first_field].first;
    prior.set(rule, of.first_field);
    if (rule.linear) rule.linear += first * rule.linear_stride;
    if (rule.noise) rule.noise += first * kLanes;
    std::atomic<int64_t> changed{0};
    const auto index = row_index(block);
    team.run(of.n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        changed +=
            isa().kernels->template sweep<Real>().update_bare(index, rule, values(first), residual_.data(), begin, end);
    });
    return changed;
}

// The same for a dense field, whose columns have the same rows: a feature's change is carried back and the next one's
// problem gathered in one pass, piece by piece.
template <class Real>
template <class Rows>
int64_t GroupSweep<Real>::sweep_dense(Team& team, size_t f, const RuleInput<Real>& rule, Rows& rows) {
    const auto& kernels = isa().kernels->template sweep<Real>();
    const Field<Real>& field = set_.design.fields[f];
    const auto n = static_cast<int64_t>(set_.fields[f].row.size()), n_pieces = (n + kPiece - 1) / kPiece;
    std::vector<Quadratic<Real>> pieces(static_cast<size_t>(n_pieces));
    Real before[kLanes], delta[kLanes];
    int64_t changed = 0;
    int lanes = 0;  // of the last feature that have changed
    for (int64_t j = 0; j <= field.n_columns; ++j) {
        const bool more = j < field.n_columns;
        const Column<Real> last = j > 0 ? set_.column(f, j - 1) : Column<Real>{},
                           next = more ? set_.column(f, j) : last;
        Real* v = more ? values(field.first + j) : nullptr;
        team.run(n_pieces, 1, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t from = i * kPiece, to = std::min(from + kPiece, n);
                pieces[i] = {};
                if (lanes && more)
                    rows.advance(piece_of(last, from, to), before, delta, piece_of(next, from, to), v, &pieces[i]);
                else if (lanes)
                    rows.apply(piece_of(last, from, to), before, delta);
                else if (more)
                    rows.collect(piece_of(next, from, to), v, &pieces[i]);
            }
        });
        if (!more) break;
        Quadratic<Real> problem{};
        for (const auto& piece : pieces) add(problem, piece);
        std::copy(v, v + kLanes, before);
        lanes = kernels.solve(problem, rule, field.first + j, v, delta);
        changed += lanes;
    }
    return changed;
}

template <class Real>
template <class Rows>
int64_t GroupSweep<Real>::sweep_field(Team& team, size_t f, const RuleInput<Real>& rule, Rows& rows) {
    const auto& kernels = isa().kernels->template sweep<Real>();
    const Field<Real>& field = set_.design.fields[f];
    std::atomic<int64_t> changed{0};
    // One feature: gather its problem over its rows, solve it, carry the change back. With a `helper`
    // team the pieces of a long column are shared out; the sum is the same.
    auto update = [&](int64_t j, Team* helper) {
        const auto only = static_cast<int32_t>(j);
        const Column<Real> column = field.identity ? Column<Real>{&only, nullptr, 1} : set_.column(f, j);
        Real* v = values(field.first + j);
        Real before[kLanes], delta[kLanes];
        std::copy(v, v + kLanes, before);
        Quadratic<Real> problem{};
        const int64_t n_pieces = (column.n + kPiece - 1) / kPiece;
        if (n_pieces <= 1) {
            rows.collect(column, v, &problem);
        } else {
            std::vector<Quadratic<Real>> pieces(static_cast<size_t>(n_pieces));
            auto collect = [&](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i)
                    rows.collect(piece_of(column, i * kPiece, std::min((i + 1) * kPiece, column.n)), v, &pieces[i]);
            };
            helper ? helper->run(n_pieces, 1, collect) : collect(0, n_pieces, 0);
            for (const auto& piece : pieces) add(problem, piece);
        }
        const int lanes = kernels.solve(problem, rule, field.first + j, v, delta);
        if (!lanes) return;
        changed += lanes;
        if (n_pieces <= 1 || !helper)
            rows.apply(column, before, delta);
        else
            helper->run(column.n, kPiece, [&](int64_t begin, int64_t end, int) {
                rows.apply(piece_of(column, begin, end), before, delta);
            });
    };
    if (set_.fields[f].dense) return sweep_dense(team, f, rule, rows);
    if (set_.fields[f].one_hot && field.n_columns >= kManyColumns)
        team.run(field.n_columns, kRowGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t j = begin; j < end; ++j) update(j, nullptr);
        });
    else
        for (int64_t j = 0; j < field.n_columns; ++j) {
            if (j % kRowGrain == 0) team.poll();
            update(j, &team);
        }
    return changed;
}

template <class Real>
template <class Rows>
int64_t GroupSweep<Real>::sweep_fields(Team& team, size_t block, RuleInput<Real> rule, const Prior& prior, Rows& rows) {
    const Block& of = set_.design.blocks[block];
    int64_t changed = 0;
    for (int f = of.first_field; f < of.first_field + of.n_fields; ++f) {
        prior.set(rule, f);
        changed += sweep_field(team, f, rule, rows);
    }
    return changed;
}

// What the rows of a block share of their interactions.
template <class Real>
RowState<Real>* GroupSweep<Real>::gather(Team& team, size_t block) {
    const int64_t n_rows = set_.design.blocks[block].n_rows;
    const auto index = row_index(block);
    if (states_.size() < static_cast<size_t>(n_rows)) {
        states_.clear();
        states_.resize(static_cast<size_t>(n_rows));
    }
    RowState<Real>* states = states_.data();
    team.run(n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t row = begin; row < end; ++row) std::copy_n(q_[block] + row * kLanes, kLanes, states[row].q);
        isa().kernels->template sweep<Real>().gather_rows(index, residual_.data(), states, begin, end);
    });
    return states;
}

template <class Real>
int64_t GroupSweep<Real>::sweep_shared(Team& team, size_t block, const RuleInput<Real>& rule, const Prior& prior) {
    const auto& kernels = isa().kernels->template sweep<Real>();
    const int64_t n_rows = set_.design.blocks[block].n_rows;
    RowState<Real>* states = gather(team, block);
    SharedRows<Real> rows{kernels, states, cross_};
    const int64_t changed = sweep_fields(team, block, rule, prior, rows);
    if (!changed) return 0;
    const auto index = row_index(block);
    team.run(n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        kernels.scatter_rows(index, states, q_[block], residual_.data(), begin, end);
        for (int64_t row = begin; row < end; ++row)
            std::copy_n(states[row].q, kLanes, rows_[block].data() + row * kLanes);
    });
    return changed;
}

template <class Real>
int64_t GroupSweep<Real>::sweep_direct(Team& team, size_t block, const RuleInput<Real>& rule, const Prior& prior) {
    const auto& kernels = isa().kernels->template sweep<Real>();
    auto& own = rows_[block];
    // With a single block the rows' q is the total already; otherwise add what the other blocks hold.
    const bool alone = other_q_[block].empty() && !cross_;
    std::vector<Real> sum;
    if (!alone) {
        sum.resize(own.size());
        team.run(set_.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t s = begin; s < end; ++s) {
                Real* total = sum.data() + s * kLanes;
                if (!cross_) std::copy_n(own.data() + s * kLanes, kLanes, total);
                for (size_t c = 0; c < other_q_[block].size(); ++c) {
                    const Real* other = other_q_[block][c] + int64_t(other_row_[block][c][s]) * kLanes;
                    for (int t = 0; t < kLanes; ++t) total[t] += other[t];
                }
            }
        });
    }
    DirectRows<Real> rows{kernels, alone ? own.data() : sum.data(), residual_.data(), weight_, cross_};
    const int64_t changed = sweep_fields(team, block, rule, prior, rows);
    if (!alone && changed) sum_rows(team, block);
    return changed;
}

template <class Real>
int64_t GroupSweep<Real>::sweep_distilled(Team& team, size_t field, const RuleInput<Real>& rule,
                                          const RowDistillation& distillation, int which) {
    const auto& kernels = isa().kernels->template sweep<Real>();
    const auto block = static_cast<size_t>(set_.design.fields[field].block);
    const int64_t n_rows = set_.design.blocks[block].n_rows;
    const auto index = row_index(block);
    const int bits = distillation.bits, first = which * kLanes;
    const std::vector<Real> before(q_[block], q_[block] + n_rows * kLanes);
    RowState<Real>* states = gather(team, block);
    team.run(n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        // To a row the teacher is so many more interactions.
        for (int64_t row = begin; row < end; ++row) {
            RowState<Real>& state = states[row];
            const Real mass = static_cast<Real>(distillation.strength) * state.count;
            for (int t = 0; t < kLanes; ++t) {
                state.sum_eo[t] += mass * static_cast<Real>(distillation.error[row * bits + first + t]);
                for (int u = 0; u < kLanes; ++u)
                    state.sum_oo[t * kLanes + u] +=
                        mass * static_cast<Real>(distillation.hessian[(first + t) * bits + first + u]);
            }
        }
    });
    SharedRows<Real> rows{kernels, states, cross_};
    const int64_t changed = sweep_field(team, field, rule, rows);
    if (!changed) return 0;
    team.run(n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        kernels.scatter_rows(index, states, before.data(), residual_.data(), begin, end);
        for (int64_t row = begin; row < end; ++row) {
            for (int t = 0; t < kLanes; ++t) {
                const auto moved = static_cast<float>(states[row].q[t] - before[row * kLanes + t]);
                const float* line = distillation.hessian + (first + t) * bits;
                if (moved != 0)
                    for (int u = 0; u < bits; ++u) distillation.error[row * bits + u] -= line[u] * moved;
            }
            if (!set_.blocks[block].bare) std::copy_n(states[row].q, kLanes, rows_[block].data() + row * kLanes);
        }
    });
    return changed;
}

template <class Real>
int64_t GroupSweep<Real>::sweep(Team& team, const RuleInput<Real>& rule, const Prior& prior) {
    int64_t changed = 0;
    for (size_t b = 0; b < set_.blocks.size(); ++b) {
        if (set_.blocks[b].bare)
            changed += sweep_bare(team, b, rule, prior);
        else if (set_.blocks[b].direct)
            changed += sweep_direct(team, b, rule, prior);
        else
            changed += sweep_shared(team, b, rule, prior);
    }
    return changed;
}

template class GroupSweep<float>;
template class GroupSweep<double>;

}  // namespace bitfm
