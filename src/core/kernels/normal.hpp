// Standard normal numbers by counter. Plain loops, each a step of many numbers, which compilers turn into vectors;
// nothing but sums, products and roots, so all instruction sets round alike.
#pragma once

#include "kernels/prelude.hpp"

namespace bitfm::BITFM_ISA {
namespace {

// Mixes a counter into 64 random bits (the finaliser of SplitMix64).
BITFM_INLINE uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// ln(x) of a positive, normal number: x = 2^e m with m around 1, and a polynomial (Moshier's, of Cephes) for ln(m).
BITFM_INLINE float log_of(float x) {
    const int32_t bits = __builtin_bit_cast(int32_t, x);
    const int32_t above = (bits - 0x3f3504f3) >> 23;  // m from √½ to √2
    const float m = __builtin_bit_cast(float, bits - (above << 23)) - 1.0f, z = m * m;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    return (p * m - 0.5f) * z + m + float(above) * 0.69314718056f;
}

// Pairs of them at places first, first + 2, …, by Box and Muller: a radius and an angle from 31 bits each.
inline void fill_normal_pairs(uint64_t seed, uint64_t first, int64_t n_pairs, float* out) {
    constexpr int kBatch = 64;
    const uint64_t key = mix(mix(seed));
    int32_t length[kBatch], turn[kBatch];
    float radius[kBatch], x[kBatch], y[kBatch];
    for (int64_t begin = 0; begin < n_pairs; begin += kBatch) {
        const int n = n_pairs - begin < kBatch ? int(n_pairs - begin) : kBatch;
        for (int i = 0; i < kBatch; ++i) {
            const uint64_t bits = mix(key ^ mix(first + 2 * uint64_t(begin + i)));
            length[i] = int32_t(bits >> 33);
            turn[i] = int32_t(bits & 0x7fffffff);
        }
        for (int i = 0; i < kBatch; ++i)
            radius[i] = __builtin_sqrtf(-2.0f * log_of((float(length[i]) + 0.5f) * 0x1p-31f));
        for (int i = 0; i < kBatch; ++i) {  // two bits say which quarter, the others an angle from −π/4 to π/4
            const int32_t quarter = turn[i] >> 29;
            const float t = (float((turn[i] & 0x1fffffff) - 0x10000000) + 0.5f) * (1.57079632679f * 0x1p-29f),
                        z = t * t;
            const float sine = ((-1.9515295891e-4f * z + 8.3321608736e-3f) * z - 1.6666654611e-1f) * z * t + t;
            const float cosine =
                ((2.443315711809948e-5f * z - 1.388731625493765e-3f) * z + 4.166664568298827e-2f) * z * z - 0.5f * z +
                1.0f;
            const bool odd = quarter & 1;
            const float a = odd ? -sine : cosine, b = odd ? cosine : sine;
            x[i] = quarter & 2 ? -a : a;
            y[i] = quarter & 2 ? -b : b;
        }
        float* to = out + 2 * begin;
        for (int i = 0; i < n; ++i) {
            to[2 * i] = radius[i] * x[i];
            to[2 * i + 1] = radius[i] * y[i];
        }
    }
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
