// Scores of interactions: bias + Σ w x + pair terms, block row by block row.
#pragma once

#include <vector>

#include "base/parallel.hpp"
#include "design/design.hpp"
#include "parameters/factor_view.hpp"

namespace bitfm {

// What a row of a block contributes to a group: q = Σ x v, and ½ Σ (q² − Σ x² v²), the pairs within the row.
template <class Real>
double row_group(const Design<Real>& design, size_t block, int64_t row, const FactorView& factors, int group, Real* q);

// Σ w x of a row of a block.
template <class Real, class Weight>
double row_linear(const Design<Real>& design, size_t block, int64_t row, std::span<const Weight> weights);

// out_s += the score of interaction s without the bias. `cross` leaves out pairs within a block.
template <class Real, class Weight>
void add_scores(Team& team, const Design<Real>& design, const std::vector<const int32_t*>& row_of,
                std::span<const Weight> weights, const FactorView& factors, bool cross, std::span<Real> out);

}  // namespace bitfm
