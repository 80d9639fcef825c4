// What the sweeps over weights and factors compile once per instruction set.
//
// A sweep updates eight factors (or bits) of every feature at a time, "a group". For an interaction s and a
// block, q is the block row's Σ x v and o_s the sum of the other blocks' q; a row is what its interactions
// share.
#pragma once

#include <cstdint>

#include "kernels/width.hpp"

namespace bitfm {

// How a feature's new values follow from its quadratic problem: min δ'Hδ − 2 g'δ over one lane after another.
// Shrinking takes the most likely value under a normal prior (ridge regression) or, given noise, draws one.
enum class Rule { shrink, flip };

template <class Real>
struct RuleInput {
    Rule rule = Rule::shrink;
    Real data_precision = 1;              // τ: what the data count against the prior
    Real prior_precision[kLanes]{};       // λ of each lane, of the field at hand
    Real prior_mean[kLanes]{};            // μ
    Real precision_times_mean[kLanes]{};  // λ μ
    const float* noise = nullptr;         // standard normal, eight per feature; null: no draw
    int passes = 1;                       // over the eight lanes
    const float* linear = nullptr;        // the group's first column of D, a row per feature; null: none
    int64_t linear_stride = 0;
    Real linear_scale = 0;  // β
};

// The interactions of a block, sorted by its rows.
template <class Real>
struct RowIndex {
    int64_t n;                        // interactions
    const int64_t* start;             // n_rows + 1
    const int32_t* order;             // interaction at each place; null: places are interactions
    const Real* weight;               // of an interaction; null: all 1
    int n_others;                     // the other blocks
    const int32_t* const* other_row;  // [block][interaction]
    const Real* const* other_q;       // [block][row * 8 + lane]
};

// What the features of one row need to know of the row's interactions, for a block whose rows are shared.
template <class Real>
struct alignas(64) RowState {
    Real sum_oo[kLanes * kLanes];  // Σ o_s o_s'
    Real sum_eo[kLanes];           // Σ e_s o_s, kept up to date
    Real q[kLanes];                // Σ x v of the row, kept up to date
    // What follows is for pairs within the row.
    Real sum_o[kLanes];  // Σ o_s
    Real count, sum_e;   // Σ 1, Σ e_s (kept up to date)
    Real shift;          // Σ δ'a so far: e_s falls by shift + (q − q at the start)'o_s
};

// A feature's problem, gathered over the rows it occurs in.
template <class Real>
struct Quadratic {
    Real hessian[kLanes * kLanes];
    Real gradient[kLanes];
};

// A stretch of one column of a table: its non-zeros.
template <class Real>
struct Column {
    const int32_t* row;
    const Real* value;  // null: all 1
    int64_t n;
};

// Plain stochastic gradient descent, as libFM does it.
template <class Real>
struct SgdInput {
    int n_fields;
    const int64_t* const* indptr;  // per field; null: identity, or dense
    const int32_t* const* indices;
    const Real* const* values;
    const int8_t* const* levels;  // per field, rows × columns of a dense one; null: it is not
    const int64_t* n_columns;     // of each field
    const float* scale;           // of the levels of each field
    const int64_t* first;         // first feature of each field
    const int32_t* const* row;    // row of each interaction in the field's block
    const int* block;             // of each field
    int n_blocks;
    const Real* target;
    const Real* weight;    // null: all 1
    const int32_t* order;  // the interactions in the order to visit
    Real learning_rate;
    const Real* factor_ridge;  // per field
    const Real* linear_ridge;
    int rank;  // a multiple of 8
    bool cross;
};

template <class Real>
struct SweepKernels {
    // A block of bare ids: row r is feature r with x = 1. Updates v (rows × 8) and the residuals.
    int64_t (*update_bare)(const RowIndex<Real>&, const RuleInput<Real>&, Real* v, Real* residual, int64_t begin,
                           int64_t end);
    // Shared rows: fill the states of rows [begin, end) from their interactions; q must be set.
    void (*gather_rows)(const RowIndex<Real>&, const Real* residual, RowState<Real>*, int64_t begin, int64_t end);
    // ... add a column's share of a feature's problem, v being the feature's current values
    void (*collect_shared)(const RowState<Real>*, const Column<Real>&, const Real* v, bool cross, Quadratic<Real>*);
    // ... carry a feature's change δ = v_new − v into the rows
    void (*apply_shared)(RowState<Real>*, const Column<Real>&, const Real* v, const Real* delta, bool cross);
    // ... or do so and collect the next column, which has the same rows, in one pass over them
    void (*advance_shared)(RowState<Real>*, const Column<Real>&, const Real* v, const Real* delta,
                           const Column<Real>& next, const Real* next_v, bool cross, Quadratic<Real>*);
    // ... and the rows' changes into the residuals of their interactions; q0 is q at the start.
    void (*scatter_rows)(const RowIndex<Real>&, const RowState<Real>*, const Real* q0, Real* residual, int64_t begin,
                         int64_t end);
    // Rows that are interactions: total = q + o of the row (cross: o alone), updated unless cross.
    void (*collect_direct)(const Real* total, const Real* residual, const Real* weight, const Column<Real>&,
                           const Real* v, bool cross, Quadratic<Real>*);
    void (*apply_direct)(Real* total, Real* residual, const Column<Real>&, const Real* v, const Real* delta,
                         bool cross);
    // Solve a feature's problem; v becomes its new values, delta the change. Returns how many lanes changed.
    int (*solve)(const Quadratic<Real>&, const RuleInput<Real>&, int64_t feature, Real* v, Real* delta);
    // out_s += Σ_{b<c} ⟨q_b, q_c⟩ for interactions [begin, end): a group's share of the pairs across
    // blocks.
    void (*add_pairs)(int n_blocks, const int32_t* const* row, const Real* const* q, Real* out, int64_t begin,
                      int64_t end);
    // Visit order[begin, end); updates bias, weights and factors; `scratch` holds rank * (n_blocks + 1)
    // numbers.
    double (*sgd)(const SgdInput<Real>&, Real* bias, Real* weights, Real* factors, Real* scratch, int64_t begin,
                  int64_t end);
};

}  // namespace bitfm
