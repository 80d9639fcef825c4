// Scores of pairs straight from their features: for pairs that share few rows, each of many features.
//
// `add_scores` works out each row once and is made for many interactions of few rows; this reads a feature's record
// once for each pair, and asks for it ahead of time.
#pragma once

#include <span>

#include "base/parallel.hpp"
#include "design/design.hpp"
#include "kernels/kernels.hpp"

namespace bitfm {

// out_s = bias + Σ w x + pair terms, in single precision but for the sums. `cross` leaves out pairs within a block;
// tables of numbers need it. The table must have a feature for each column of the design.
template <class Real>
void score_pairs(Team& team, const Design<Real>& design, PairTable table, double bias, bool cross,
                 std::span<double> out);

}  // namespace bitfm
