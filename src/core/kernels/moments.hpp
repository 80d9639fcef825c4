// Dense little matrix products for the D-step.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

// gram += Σ row row', for groups of columns on and below the diagonal.
inline void add_gram(const double* rows, int n, int width, double* gram) {
    using L = Lanes<double>;
    constexpr int kLines = 4;  // as many sums as registers hold
    for (int i = 0; i < width; i += kLines)
        for (int j = 0; j <= i; j += kLanes) {
            L sum[kLines];
            for (int t = 0; t < kLines; ++t) sum[t] = L::load(gram + (i + t) * width + j);
            for (int r = 0; r < n; ++r) {
                const double* row = rows + r * width;
                const L right = L::load(row + j);
                for (int t = 0; t < kLines; ++t) sum[t] += right * row[i + t];
            }
            for (int t = 0; t < kLines; ++t) sum[t].store(gram + (i + t) * width + j);
        }
}

// out = rows · transform, four rows at a time; `rows` and `out` have room for a multiple of four.
inline void map_rows(const double* rows, int n, int width, const double* transform, double* out) {
    using L = Lanes<double>;
    constexpr int kLines = 4;
    for (int r = 0; r < n; r += kLines)
        for (int j = 0; j < width; j += kLanes) {
            L sum[kLines];
            for (auto& s : sum) s = L::fill(0);
            for (int i = 0; i < width; ++i) {
                const L line = L::load(transform + i * width + j);
                for (int t = 0; t < kLines; ++t) sum[t] += line * rows[(r + t) * width + i];
            }
            for (int t = 0; t < kLines; ++t) sum[t].store(out + (r + t) * width + j);
        }
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
