// Sums down the columns of a matrix, over some of its rows.
#pragma once

#include <span>

#include "base/matrix.hpp"

namespace bitfm {

// Σ v and Σ (v − centre)² of each column over these rows, in their order.
template <class Real>
void column_sums(Matrix<const Real> values, std::span<const int64_t> rows, std::span<const double> centre,
                 std::span<double> sums, std::span<double> squares);

}  // namespace bitfm
