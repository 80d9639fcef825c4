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

// out += scale(s, ⟨row, v⟩) row, and squares += |value| row², of so many rows at once: these share loads of v and
// `out`.
template <int kRows, bool kSquares, class Scale>
BITFM_INLINE void add_rows(const float* const* row, int64_t width, const float* value, const float* v,
                           const Scale& scale, float* out, float* squares) {
    using L = Lanes<float>;
    L sum[kRows];
    for (int k = 0; k < kRows; ++k) sum[k] = L::fill(0);
    int64_t i = 0;
    for (; i + kLanes <= width; i += kLanes) {
        const L of_v = L::load(v + i);
        for (int k = 0; k < kRows; ++k) sum[k] += L::load(row[k] + i) * of_v;
    }
    float by[kRows], weight[kRows];
    for (int k = 0; k < kRows; ++k) {
        float dot = sum[k].sum();
        for (int64_t j = i; j < width; ++j) dot += row[k][j] * v[j];
        by[k] = scale(value[k], dot);
        weight[k] = __builtin_fabsf(value[k]);
    }
    for (int64_t j = 0; j < i; j += kLanes) {
        L to = L::load(out + j), square = kSquares ? L::load(squares + j) : L::fill(0);
        for (int k = 0; k < kRows; ++k) {
            const L of_row = L::load(row[k] + j);
            to += of_row * by[k];
            if (kSquares) square += of_row * of_row * weight[k];
        }
        to.store(out + j);
        if (kSquares) square.store(squares + j);
    }
    for (; i < width; ++i)
        for (int k = 0; k < kRows; ++k) {
            out[i] += row[k][i] * by[k];
            if (kSquares) squares[i] += row[k][i] * row[k][i] * weight[k];
        }
}

template <bool kSquares, class Scale>
BITFM_INLINE void add_all_rows(const float* rows, int64_t width, const int32_t* index, const float* value, int64_t n,
                               const float* v, const Scale& scale, float* out, float* squares) {
    constexpr int kRows = 4;
    int64_t s = 0;
    for (; s + kRows <= n; s += kRows) {
        const float* row[kRows];
        for (int k = 0; k < kRows; ++k) {
            row[k] = rows + index[s + k] * width;
            if (s + kRows + k < n)
                for (int64_t at = 0; at < width; at += 16) __builtin_prefetch(rows + index[s + kRows + k] * width + at);
        }
        add_rows<kRows, kSquares>(row, width, value + s, v, scale, out, squares);
    }
    for (; s < n; ++s) {
        const float* row = rows + index[s] * width;
        add_rows<1, kSquares>(&row, width, value + s, v, scale, out, squares);
    }
}

inline void add_products(const float* rows, int64_t width, const int32_t* index, const float* value, int64_t n,
                         const float* v, float* out) {
    const auto scale = [](float of, float dot) { return __builtin_fabsf(of) * dot; };
    add_all_rows<false>(rows, width, index, value, n, v, scale, out, nullptr);
}

inline void add_lacking(const float* rows, int64_t width, const int32_t* index, const float* value, int64_t n,
                        const float* v, float* out, float* squares) {
    const auto scale = [](float of, float dot) { return __builtin_fabsf(of) * ((of > 0 ? 1.0f : 0.0f) - dot); };
    add_all_rows<true>(rows, width, index, value, n, v, scale, out, squares);
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
