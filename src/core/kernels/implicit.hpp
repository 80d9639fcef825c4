// Inner loops of fits to events. Vectors run along rows, or sums have eight lanes: the order is the same everywhere.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

BITFM_INLINE float dot_of(const float* a, const float* b, int64_t n) {
    using L = Lanes<float>;
    L sum = L::fill(0), more = L::fill(0);
    int64_t i = 0;
    for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
        sum += L::load(a + i) * L::load(b + i);
        more += L::load(a + i + kLanes) * L::load(b + i + kLanes);
    }
    sum += more;
    for (; i + kLanes <= n; i += kLanes) sum += L::load(a + i) * L::load(b + i);
    float out = sum.sum();
    for (; i < n; ++i) out += a[i] * b[i];
    return out;
}

BITFM_INLINE void add_to(float* __restrict y, float scale, const float* __restrict x, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

inline float dot_product(const float* a, const float* b, int64_t n) {
    return dot_of(a, b, n);
}

inline void add_scaled(float* y, float scale, const float* x, int64_t n) {
    add_to(y, scale, x, n);
}

inline void add_products(const float* rows, int64_t width, const int32_t* index, const float* value, int64_t n,
                         const float* v, float* out) {
    constexpr int64_t kAhead = 4;
    for (int64_t s = 0; s < n; ++s) {
        if (s + kAhead < n)
            for (int64_t at = 0; at < width; at += 16) __builtin_prefetch(rows + index[s + kAhead] * width + at);
        const float* row = rows + index[s] * width;
        add_to(out, __builtin_fabsf(value[s]) * dot_of(row, v, width), row, width);
    }
}

inline void solve_forward(const float* u, int64_t n, float* b, int64_t width) {
    for (int64_t i = 0; i < n; ++i) {
        float* solved = b + i * width;
        for (int64_t j = 0; j < width; ++j) solved[j] /= u[i * n + i];
        for (int64_t k = i + 1; k < n; ++k) add_to(b + k * width, -u[i * n + k], solved, width);
    }
}

inline int64_t descend_levels(const LevelDescent& d) {
    int64_t changed = 0;
    for (int pass = 0; pass < d.passes; ++pass) {
        changed = 0;
        for (int64_t t = 0; t < d.n; ++t) {
            const float* row = d.hessian + t * d.stride;
            const float curvature = d.gain * row[t];
            if (!(curvature > 0)) continue;
            const float best = d.level[t] + d.error[t] / curvature;  // were it free
            const float* values = d.values + d.first[t];
            float nearest = values[0];
            for (int32_t i = 1; i < d.count[t]; ++i) {
                const float middle = 0.5f * (values[i - 1] + values[i]);
                if (best > middle) nearest = values[i];
            }
            if (nearest == d.level[t]) continue;
            // Of two levels that are equally good the old one stays, so that a pass cannot go in circles.
            const float step = nearest - d.level[t];
            if (!(step * (2 * d.error[t] - step * curvature) > 0)) continue;
            add_to(d.error, -d.gain * step, row, d.n);
            d.level[t] = nearest;
            ++changed;
        }
        if (changed == 0) break;
    }
    return changed;
}

inline int64_t count_common(const uint64_t* a, const uint64_t* b, int64_t n_words) {
    int64_t count = 0;
    for (int64_t i = 0; i < n_words; ++i) count += __builtin_popcountll(a[i] & b[i]);
    return count;
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
