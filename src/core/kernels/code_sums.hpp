// What the codes of a row's features sum to, 64 bits of eight features at a time.
//
// Bit t of feature f adds ±a_f to sum t, with a = x · scale. Four features have 16 such sums between them, whatever t:
//     ±a₀ ± a₁ ± a₂ ± a₃,
// so AVX-512 works them out once and looks them up, 16 lanes at a time. The four bits that say which one are those of
// four codes at the same place: eight codes side by side are transposed, 8 × 8 bits by one instruction. Elsewhere the
// same four terms are added in the same order, and then to the sum.
//
// Beyond the last feature there are ones with a = 0.
#pragma once

#include "kernels/eight_features.hpp"

namespace bitfm::BITFM_ISA {
namespace {

// 64 sums of numbers.
struct Sums64 {
#if defined(__AVX512F__)
    __m512 first, second, third, fourth;  // of 16 bits each; names, since arrays would not stay in registers

    BITFM_INLINE void clear() { first = second = third = fourth = _mm512_setzero_ps(); }
    BITFM_INLINE void load(const float* from) {
        first = _mm512_loadu_ps(from);
        second = _mm512_loadu_ps(from + 16);
        third = _mm512_loadu_ps(from + 32);
        fourth = _mm512_loadu_ps(from + 48);
    }
    BITFM_INLINE void store(float* to) const {
        _mm512_storeu_ps(to, first);
        _mm512_storeu_ps(to + 16, second);
        _mm512_storeu_ps(to + 32, third);
        _mm512_storeu_ps(to + 48, fourth);
    }
    BITFM_INLINE void add(const EightFeatures& eight, const float* amounts, int) {
        const __m512 low = sums_of_four(amounts), high = sums_of_four(amounts + 4);
        // Byte m of dword d is that of bit 16 m + d. A look-up regards the lowest four bits alone.
        const __m512i index = _mm512_permutexvar_epi8(_mm512_load_si512(kSpread.byte), eight.bits);
        first = _mm512_add_ps(first, _mm512_permutexvar_ps(index, low));
        second = _mm512_add_ps(second, _mm512_permutexvar_ps(_mm512_srli_epi32(index, 8), low));
        third = _mm512_add_ps(third, _mm512_permutexvar_ps(_mm512_srli_epi32(index, 16), low));
        fourth = _mm512_add_ps(fourth, _mm512_permutexvar_ps(_mm512_srli_epi32(index, 24), low));
        first = _mm512_add_ps(first, _mm512_permutexvar_ps(_mm512_srli_epi32(index, 4), high));
        second = _mm512_add_ps(second, _mm512_permutexvar_ps(_mm512_srli_epi32(index, 12), high));
        third = _mm512_add_ps(third, _mm512_permutexvar_ps(_mm512_srli_epi32(index, 20), high));
        fourth = _mm512_add_ps(fourth, _mm512_permutexvar_ps(_mm512_srli_epi32(index, 28), high));
    }

  private:
    struct Spread {
        alignas(64) uint8_t byte[64];
    };
    static constexpr Spread kSpread = [] {
        Spread spread{};
        for (int d = 0; d < 16; ++d)
            for (int m = 0; m < 4; ++m) spread.byte[4 * d + m] = uint8_t(16 * m + d);
        return spread;
    }();
    // The product with ±1 is exact, so that fusing it with the sum rounds as a sum alone.
    static BITFM_INLINE __m512 sums_of_four(const float* amounts) {
        const __m512 one = _mm512_mul_ps(_mm512_set1_ps(amounts[0]), signs(0));
        const __m512 two = _mm512_fmadd_ps(_mm512_set1_ps(amounts[1]), signs(1), one);
        const __m512 three = _mm512_fmadd_ps(_mm512_set1_ps(amounts[2]), signs(2), two);
        return _mm512_fmadd_ps(_mm512_set1_ps(amounts[3]), signs(3), three);
    }
    // Of each of 16 look-ups, the sign of feature f.
    struct Signs {
        alignas(64) float of[4][16];
    };
    static constexpr Signs kSigns = [] {
        Signs signs{};
        for (int f = 0; f < 4; ++f)
            for (int i = 0; i < 16; ++i) signs.of[f][i] = i >> f & 1 ? 1.0f : -1.0f;
        return signs;
    }();
    static BITFM_INLINE __m512 signs(int f) { return _mm512_load_ps(kSigns.of[f]); }
#elif defined(__AVX2__)
    __m256 s0, s1, s2, s3, s4, s5, s6, s7;  // names, since arrays would not stay in registers

    BITFM_INLINE void clear() { s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = _mm256_setzero_ps(); }
    BITFM_INLINE void load(const float* from) {
        s0 = _mm256_loadu_ps(from);
        s1 = _mm256_loadu_ps(from + 8);
        s2 = _mm256_loadu_ps(from + 16);
        s3 = _mm256_loadu_ps(from + 24);
        s4 = _mm256_loadu_ps(from + 32);
        s5 = _mm256_loadu_ps(from + 40);
        s6 = _mm256_loadu_ps(from + 48);
        s7 = _mm256_loadu_ps(from + 56);
    }
    BITFM_INLINE void store(float* to) const {
        _mm256_storeu_ps(to, s0);
        _mm256_storeu_ps(to + 8, s1);
        _mm256_storeu_ps(to + 16, s2);
        _mm256_storeu_ps(to + 24, s3);
        _mm256_storeu_ps(to + 32, s4);
        _mm256_storeu_ps(to + 40, s5);
        _mm256_storeu_ps(to + 48, s6);
        _mm256_storeu_ps(to + 56, s7);
    }
    BITFM_INLINE void add(const EightFeatures& eight, const float* amounts, int kept) {
        if (kept & 0xf) add_four(eight.words, amounts);
        if (kept >> 4) add_four(eight.words + 4, amounts + 4);
    }

  private:
    // The product with ±1 is exact, so that fusing it with the sum rounds as a sum alone.
    BITFM_INLINE void add_four(const uint8_t* const* words, const float* amounts) {
        const uint8_t *w0 = words[0], *w1 = words[1], *w2 = words[2], *w3 = words[3];
        const __m256 a0 = _mm256_set1_ps(amounts[0]), a1 = _mm256_set1_ps(amounts[1]);
        const __m256 a2 = _mm256_set1_ps(amounts[2]), a3 = _mm256_set1_ps(amounts[3]);
        const auto four = [&](int m) BITFM_INLINE_LAMBDA {
            const __m256 two = _mm256_fmadd_ps(a1, signs(w1[m]), _mm256_mul_ps(a0, signs(w0[m])));
            return _mm256_fmadd_ps(a3, signs(w3[m]), _mm256_fmadd_ps(a2, signs(w2[m]), two));
        };
        s0 = _mm256_add_ps(s0, four(0));
        s1 = _mm256_add_ps(s1, four(1));
        s2 = _mm256_add_ps(s2, four(2));
        s3 = _mm256_add_ps(s3, four(3));
        s4 = _mm256_add_ps(s4, four(4));
        s5 = _mm256_add_ps(s5, four(5));
        s6 = _mm256_add_ps(s6, four(6));
        s7 = _mm256_add_ps(s7, four(7));
    }
    struct Signs {
        alignas(32) float of[256][8];
    };
    static constexpr Signs kSigns = [] {
        Signs signs{};
        for (int byte = 0; byte < 256; ++byte)
            for (int t = 0; t < 8; ++t) signs.of[byte][t] = byte >> t & 1 ? 1.0f : -1.0f;
        return signs;
    }();
    static BITFM_INLINE __m256 signs(uint8_t byte) { return _mm256_load_ps(kSigns.of[byte]); }
#else
    float sum[64];

    BITFM_INLINE void clear() { __builtin_memset(sum, 0, sizeof sum); }
    BITFM_INLINE void load(const float* from) { __builtin_memcpy(sum, from, sizeof sum); }
    BITFM_INLINE void store(float* to) const { __builtin_memcpy(to, sum, sizeof sum); }
    BITFM_INLINE void add(const EightFeatures& eight, const float* amounts, int) {
        for (int first = 0; first < kEight; first += 4)
            for (int t = 0; t < 64; ++t) {
                const auto term = [&](int f) {
                    return eight.word(first + f) >> t & 1 ? amounts[first + f] : -amounts[first + f];
                };
                float four = term(0);
                for (int f = 1; f < 4; ++f) four += term(f);
                sum[t] += four;
            }
    }
#endif
};

template <bool kRecord, bool kFar>
void add_word(const PairTable& table, const RowEntries& row, const RowEntries& next, int at, bool first, float* q,
              Lanes<double>& linear) {
    Sums64 sums;
    if (first)
        sums.clear();
    else
        sums.load(q + 8 * at);
    each_eight<kRecord, kFar>(table, row, next, at, [&](int64_t j, int kept, EightFeatures& eight) BITFM_INLINE_LAMBDA {
        alignas(32) float amounts[kEight], some[kEight] = {};
        const float* x = row.x + j;
        if (kept != kAll) eight.keep(kept);
        if (row.n < kEight) {
            for (int f = 0; f < row.n; ++f) some[f] = x[f];
            x = some;
        }
        const Lanes<double> products = eight.multiply(x, amounts);
        if (kRecord || at == 0) linear += products;
        __asm__("" : "+m"(amounts));  // each is loaded to all lanes, which is cheaper than to shuffle
        sums.add(eight, amounts, kept);
    });
    sums.store(q + 8 * at);
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
