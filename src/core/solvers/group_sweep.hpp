// One sweep over eight columns of the factors or codes: block by block, field by field, feature by feature.
#pragma once

#include <vector>

#include "base/large_pages.hpp"
#include "base/parallel.hpp"
#include "design/training_set.hpp"
#include "parameters/factor_view.hpp"
#include "solvers/residuals.hpp"

namespace bitfm {

// What is held of a group's columns before the data are seen: normal, by field, with these precisions and means.
struct Prior {
    const double* precision = nullptr;  // of a field's first column in the group; null: 0
    const double* mean = nullptr;       // likewise
    int64_t field_stride = 1, column_stride = 0;
    int width = kLanes;  // the group's columns

    // One precision per field, around 0.
    static Prior ridge(std::span<const double> of_field) { return {of_field.data()}; }

    template <class Real>
    void set(RuleInput<Real>& rule, int64_t field) const {
        for (int t = 0; t < width && precision; ++t) {
            const int64_t at = field * field_stride + t * column_stride;
            rule.prior_precision[t] = static_cast<Real>(precision[at]);
            rule.prior_mean[t] = mean ? static_cast<Real>(mean[at]) : Real(0);
            rule.precision_times_mean[t] = mean ? static_cast<Real>(precision[at] * mean[at]) : Real(0);
        }
    }
};

// What else a field's rows P are held to, beside the data: strength · Σ n_u (P'HP − 2 P'c) over the rows, n_u of their
// interactions each. error = c − H P is kept up to date.
struct RowDistillation {
    int bits;
    double strength;
    const float* hessian;  // bits × bits
    float* error;          // rows × bits
};

template <class Real>
class GroupSweep {
  public:
    GroupSweep(Team& team, Residuals<Real>& residuals);

    // Take eight columns from the factors.
    void load(Team& team, const FactorView& factors, int which);

    // Update every feature's eight values by the rule. Returns how many values changed.
    int64_t sweep(Team& team, const RuleInput<Real>& rule, const Prior& prior);

    // The same for one field, whose rows are also held to a teacher; `which` is the group.
    int64_t sweep_distilled(Team& team, size_t field, const RuleInput<Real>& rule, const RowDistillation& distillation,
                            int which);

    // A feature's eight values.
    Real* values(int64_t feature) { return v_.data() + feature * kLanes; }

    // ... and their signs, as a byte of its code.
    uint8_t signs(int64_t feature) const {
        unsigned byte = 0;
        for (int t = 0; t < kLanes; ++t) byte |= (v_[feature * kLanes + t] > 0 ? 1u : 0u) << t;
        return static_cast<uint8_t>(byte);
    }

  private:
    RowIndex<Real> row_index(size_t block) const;
    void sum_rows(Team& team, size_t block);
    RowState<Real>* gather(Team& team, size_t block);
    int64_t sweep_bare(Team& team, size_t block, RuleInput<Real> rule, const Prior& prior);
    int64_t sweep_shared(Team& team, size_t block, const RuleInput<Real>& rule, const Prior& prior);
    int64_t sweep_direct(Team& team, size_t block, const RuleInput<Real>& rule, const Prior& prior);
    template <class Rows>
    int64_t sweep_fields(Team& team, size_t block, RuleInput<Real> rule, const Prior& prior, Rows& rows);
    template <class Rows>
    int64_t sweep_field(Team& team, size_t f, const RuleInput<Real>& rule, Rows& rows);
    template <class Rows>
    int64_t sweep_dense(Team& team, size_t f, const RuleInput<Real>& rule, Rows& rows);

    const TrainingSet<Real>& set_;
    const bool cross_;
    std::span<Real> residual_;               // kept up to date
    const Real* weight_;                     // null: all 1
    ScratchVector<Real> v_;                  // features × 8
    std::vector<ScratchVector<Real>> rows_;  // Σ x v of each block's rows; empty where they are the features
    ScratchVector<RowState<Real>> states_;   // of the rows of the block at hand
    std::vector<const Real*> q_;             // of each block: rows × 8
    std::vector<std::vector<const int32_t*>> other_row_;
    std::vector<std::vector<const Real*>> other_q_;
};

}  // namespace bitfm
