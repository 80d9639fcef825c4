// Eight numbers side by side: the factors (or bits) that a sweep updates together.
//
// Written with compiler vectors of the width the instruction set has, so one source serves all of them; the
// order of every sum is spelled out, so all of them round alike.
#pragma once

#include "kernels/prelude.hpp"

namespace bitfm::BITFM_ISA {
namespace {

template <class Real>
struct Lanes {
    static constexpr int kBytes =
        BITFM_VECTOR_BYTES < 8 * int(sizeof(Real)) ? BITFM_VECTOR_BYTES : 8 * int(sizeof(Real));
    static constexpr int kPer = kBytes / int(sizeof(Real));
    static constexpr int kParts = kLanes / kPer;
    typedef Real Vector __attribute__((vector_size(kBytes)));
    typedef Real Loose __attribute__((vector_size(kBytes), aligned(sizeof(Real)), may_alias));

    Vector part[kParts];

    static BITFM_INLINE Lanes load(const Real* from) {
        Lanes out;
        for (int i = 0; i < kParts; ++i) out.part[i] = *reinterpret_cast<const Loose*>(from + i * kPer);
        return out;
    }
    static BITFM_INLINE Lanes fill(Real value) {
        Lanes out;
        for (int i = 0; i < kParts; ++i) out.part[i] = value - Vector{};
        return out;
    }
    BITFM_INLINE void store(Real* to) const {
        for (int i = 0; i < kParts; ++i) *reinterpret_cast<Loose*>(to + i * kPer) = part[i];
    }
    BITFM_INLINE Lanes& operator+=(const Lanes& b) {
        for (int i = 0; i < kParts; ++i) part[i] += b.part[i];
        return *this;
    }
    BITFM_INLINE Lanes& operator-=(const Lanes& b) {
        for (int i = 0; i < kParts; ++i) part[i] -= b.part[i];
        return *this;
    }
    friend BITFM_INLINE Lanes operator+(Lanes a, const Lanes& b) { return a += b; }
    friend BITFM_INLINE Lanes operator-(Lanes a, const Lanes& b) { return a -= b; }
    friend BITFM_INLINE Lanes operator*(Lanes a, const Lanes& b) {
        for (int i = 0; i < kParts; ++i) a.part[i] *= b.part[i];
        return a;
    }
    friend BITFM_INLINE Lanes operator*(Lanes a, Real b) {
        for (int i = 0; i < kParts; ++i) a.part[i] *= b;
        return a;
    }
    // ((0+4)+(2+6)) + ((1+5)+(3+7)): halves folded onto each other, as vector units like it.
    BITFM_INLINE Real sum() const {
#if defined(__AVX2__)
        if constexpr (sizeof(Real) == 4) {
            const __m256 all = part[0];
            const __m128 four = _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1));
            const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
        } else {
#if defined(__AVX512F__)
            const __m512d all = part[0];
            const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(all), _mm512_extractf64x4_pd(all, 1));
#else
            const __m256d four = part[0] + part[1];
#endif
            const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
            return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
        }
#endif
        Real x[kLanes];
        store(x);
        return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
    }
};

template <class Real>
BITFM_INLINE Real dot(const Lanes<Real>& a, const Lanes<Real>& b) {
    return (a * b).sum();
}

// Eight floats, as doubles.
BITFM_INLINE Lanes<double> widen(const float* from) {
    using D = Lanes<double>;
    typedef float Narrow __attribute__((vector_size(D::kPer * sizeof(float)), aligned(sizeof(float)), may_alias));
    D out;
    for (int i = 0; i < D::kParts; ++i)
        out.part[i] = __builtin_convertvector(*reinterpret_cast<const Narrow*>(from + i * D::kPer), D::Vector);
    return out;
}
BITFM_INLINE Lanes<double> widen(const Lanes<float>& eight) {
#if defined(__AVX2__) && !defined(__AVX512F__)
    Lanes<double> out;
    const __m256 all = eight.part[0];
    out.part[0] = _mm256_cvtps_pd(_mm256_castps256_ps128(all));
    out.part[1] = _mm256_cvtps_pd(_mm256_extractf128_ps(all, 1));
    return out;
#endif
    float values[kLanes];
    eight.store(values);
    return widen(values);
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
