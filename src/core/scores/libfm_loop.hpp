// Scores of rows the way libFM computes them: what the paper measures its codes against.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"

namespace bitfm {

// Rows of raw features: row r has the entries from indptr[r] to indptr[r + 1].
struct SparseRows {
    std::span<const int64_t> indptr;
    std::span<const int32_t> indices;
    std::span<const float> values;
};

// out_r = bias + Σ w x + ½ Σ_f ((Σ v_f x)² − Σ (v_f x)²), in double precision. The factors are factor after factor, a
// number for each weight, as libFM keeps them. Kept as plain as the original: no vectors, nothing shared between rows.
void libfm_scores(Team& team, const SparseRows& rows, double bias, std::span<const double> weights,
                  std::span<const double> factors, std::span<double> out);

}  // namespace bitfm
