// Inner loops of dense linear algebra. Vectors run along rows, so every number is summed in its own fixed order.
#pragma once

#include "kernels/prelude.hpp"

namespace bitfm::BITFM_ISA {
namespace {

constexpr int kTileRows = BITFM_VECTOR_BYTES == 64 ? 12 : BITFM_VECTOR_BYTES == 32 ? 6 : 4;
template <class Real>
constexpr int kTileColumns = 2 * BITFM_VECTOR_BYTES / int(sizeof(Real));

template <class Real>
inline void multiply_tile(const Real* a, const Real* b, int64_t depth, Real* out) {
    typedef Real Vector __attribute__((vector_size(BITFM_VECTOR_BYTES)));
    typedef Real Loose __attribute__((vector_size(BITFM_VECTOR_BYTES), aligned(sizeof(Real)), may_alias));
    constexpr int kPer = BITFM_VECTOR_BYTES / int(sizeof(Real));
    Vector sum[kTileRows][2] = {};
    for (int64_t k = 0; k < depth; ++k, a += kTileRows, b += kTileColumns<Real>) {
        const Vector left = *reinterpret_cast<const Loose*>(b), right = *reinterpret_cast<const Loose*>(b + kPer);
#pragma GCC unroll 12
        for (int i = 0; i < kTileRows; ++i) {
            sum[i][0] += left * a[i];
            sum[i][1] += right * a[i];
        }
    }
    for (int i = 0; i < kTileRows; ++i)
        for (int part = 0; part < 2; ++part)
            *reinterpret_cast<Loose*>(out + i * kTileColumns<Real> + part * kPer) = sum[i][part];
}

template <class Real>
inline bool factor(Real* a, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
        Real* pivot = a + k * n;
        if (!(pivot[k] > 0) || pivot[k] - pivot[k] != 0) return false;  // infinity, too
        const Real root = Real(__builtin_sqrt(pivot[k]));
        pivot[k] = root;
        for (int64_t j = k + 1; j < n; ++j) pivot[j] /= root;
        for (int64_t i = k + 1; i < n; ++i) {
            Real* __restrict row = a + i * n;
            const Real scale = pivot[i];
            for (int64_t j = i; j < n; ++j) row[j] -= scale * pivot[j];
        }
    }
    return true;
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
