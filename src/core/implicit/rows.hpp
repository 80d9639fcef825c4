// Vectors of users, or of items, given those of the other side: least squares over events and all that did not happen.
//
// Row u minimises Σ e (y − ⟨p, c⟩)² over its events + pᵀ G p + ridge |p − m|². An event of value v weighs e = |v|; y is
// 1, or 0 where v is below 0: a dislike. G is what the pairs without an event cost, a0 times the Gram matrix of the
// other side's vectors. It is diagonal: the vectors are given in its axes. So the equations have as many unknowns as
// dimensions or as events, whichever are fewer.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "base/matrix.hpp"
#include "base/parallel.hpp"

namespace bitfm {

// The events of rows, one row after another.
struct EventRows {
    std::span<const int64_t> start;
    std::span<const int32_t> index;  // of the other side
    std::span<const float> value;

    int64_t n_rows() const { return static_cast<int64_t>(start.size()) - 1; }
    float weight(int64_t s) const { return std::abs(value[static_cast<size_t>(s)]); }
    float target(int64_t s) const { return value[static_cast<size_t>(s)] > 0 ? 1.0f : 0.0f; }
    void check(int64_t n_rows, int64_t n_other) const;
    void check_layout(int64_t n_rows, int64_t n_other) const;  // whatever the values
};

struct RowSystem {
    EventRows events;
    Matrix<const float> other;          // vectors of the other side
    std::span<const float> unobserved;  // the diagonal of G
    std::span<const float> ridge;       // per row
    Matrix<const float> prior;          // m per row; empty: zeros

    void check(const Matrix<float>& out) const;
};

// A row without events is its prior. `leverage`, if there is room for it, gets e cᵀ A⁻¹ c of every event, A being the
// matrix of the equations: how much the row's prediction of an event comes from that event.
void solve_rows(Team& team, const RowSystem& system, Matrix<float> out, std::span<float> leverage);

// ⟨row, other⟩ of every event.
void score_events(Team& team, const EventRows& events, Matrix<const float> rows, Matrix<const float> other,
                  std::span<float> out);

// Row i of `out` = Σ value × vector over the entries of row i: a sparse matrix times a dense one.
void sum_vectors(Team& team, const EventRows& entries, Matrix<const float> vectors, Matrix<float> out);

// Improves rows by so many steps of conjugate gradients.
void improve_rows(Team& team, const RowSystem& system, int steps, Matrix<float> out);

}  // namespace bitfm
