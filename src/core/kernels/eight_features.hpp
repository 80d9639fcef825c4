// Eight features of a row at a time: some 64 bits of their codes, and their weights and scales.
//
// For AVX-512 the bits are transposed, eight codes side by side, 8 × 8 bits by one instruction.
#pragma once

#include "kernels/features.hpp"

namespace bitfm::BITFM_ISA {
namespace {

constexpr int kEight = 8;

BITFM_INLINE uint32_t bits_of(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

typedef uint32_t Bits8 __attribute__((vector_size(32)));

// Whether any bit is set.
BITFM_INLINE bool any(const Bits8& bits) {
#if defined(__AVX2__)
    return !_mm256_testz_si256(__m256i(bits), __m256i(bits));
#else
    uint32_t all = 0;
    for (int i = 0; i < 8; ++i) all |= bits[i];
    return all;
#endif
}
#if defined(__AVX512F__)
typedef uint32_t Bits16 __attribute__((vector_size(64)));
BITFM_INLINE bool any(const Bits16& bits) {
    return _mm512_test_epi32_mask(__m512i(bits), __m512i(bits));
}
#endif

// Up to eight features of a row: some 64 bits of each code, or the bytes that are left, and what belongs to them.
// kRecord: they are in records of 16 bytes, codes of 64 bits, weights and scales.
#if defined(__AVX512F__)
struct EightFeatures {
    __m512i bits;    // byte t has bit t of all eight
    __m512 numbers;  // weights, then scales

    template <bool kRecord>
    BITFM_INLINE void load(const Features& features, const int32_t* column, int at, int n_bytes) {
        // Feature f goes to byte 7 − f of each eight: that is how the transposition counts.
        const __m512i diagonal = _mm512_set1_epi64(int64_t(0x8040201008040201));
        __m512i bytes;
        if constexpr (kRecord) {
            const __m512i low = four_records(features, column), high = four_records(features, column + 4);
            bytes = _mm512_permutex2var_epi8(low, _mm512_load_si512(kOrder<16>.byte), high);
            numbers = _mm512_castsi512_ps(_mm512_permutex2var_epi32(
                low, _mm512_setr_epi32(2, 6, 10, 14, 18, 22, 26, 30, 3, 7, 11, 15, 19, 23, 27, 31), high));
        } else {
            alignas(64) uint64_t words[kEight];
            alignas(64) float apart[2 * kEight];
            for (int f = 0; f < kEight; ++f) {
                words[f] = features.word(column[f], at, n_bytes);
                apart[f] = features.weight(column[f]);
                apart[kEight + f] = features.scale(column[f]);
            }
            bytes = _mm512_permutexvar_epi8(_mm512_load_si512(kOrder<8>.byte), _mm512_load_si512(words));
            numbers = _mm512_load_ps(apart);
        }
        bits = _mm512_gf2p8affine_epi64_epi8(diagonal, bytes, 0);
    }
    BITFM_INLINE void keep(int kept) {
        bits = _mm512_and_si512(bits, _mm512_set1_epi8(char(kept)));
        numbers = _mm512_maskz_mov_ps(__mmask16(kept * 0x101), numbers);
    }
    BITFM_INLINE Lanes<double> weights() const { return wide(_mm512_castps512_ps256(numbers)); }
    // x · scale, and of the weights the products.
    BITFM_INLINE Lanes<double> multiply(const float* x, float* amounts) const {
        const __m256 eight = _mm256_loadu_ps(x);
        const __m512 products = _mm512_mul_ps(numbers, _mm512_broadcast_f32x8(eight));
        _mm256_store_ps(amounts, _mm512_extractf32x8_ps(products, 1));
        return wide(_mm512_castps512_ps256(products));
    }

    // Whether all scales are one.
    struct Scales {
        __m512i expected, different = _mm512_setzero_si512();

        BITFM_INLINE explicit Scales(float scale) : expected(_mm512_set1_epi32(int32_t(bits_of(scale)))) {}
        BITFM_INLINE void add(const EightFeatures& eight) {  // different | (scale ^ expected)
            different = _mm512_ternarylogic_epi32(different, _mm512_castps_si512(eight.numbers), expected, 0xf6);
        }
        BITFM_INLINE operator bool() const { return !(_mm512_test_epi32_mask(different, different) >> kEight); }
    };

  private:
    static BITFM_INLINE Lanes<double> wide(__m256 eight) {
        Lanes<double> out;
        static_assert(Lanes<double>::kParts == 1);
        out.part[0] = _mm512_cvtps_pd(eight);
        return out;
    }
    struct Order {
        alignas(64) uint8_t byte[64];
    };
    // Byte b of feature f, where features are so many bytes apart.
    template <int kStride>
    static constexpr Order kOrder = [] {
        Order order{};
        for (int b = 0; b < 8; ++b)
            for (int f = 0; f < kEight; ++f) order.byte[8 * b + 7 - f] = uint8_t(kStride * f + b);
        return order;
    }();
    static BITFM_INLINE __m512i four_records(const Features& features, const int32_t* column) {
        const auto at = [&](int f) {
            return _mm_loadu_si128(reinterpret_cast<const __m128i*>(features.vectors + int64_t(column[f]) * 16));
        };
        const __m256i first = _mm256_inserti128_si256(_mm256_castsi128_si256(at(0)), at(1), 1);
        const __m256i second = _mm256_inserti128_si256(_mm256_castsi128_si256(at(2)), at(3), 1);
        return _mm512_inserti64x4(_mm512_castsi256_si512(first), second, 1);
    }
};
#else
struct EightFeatures {
    const uint8_t* words[kEight];  // where they are
    Lanes<float> weight, scale;
    uint64_t apart[kEight];

    template <bool kRecord>
    BITFM_INLINE void load(const Features& features, const int32_t* column, int at, int n_bytes) {
#if defined(__AVX2__)
        if constexpr (kRecord) {
            const auto two = [&](int f) BITFM_INLINE_LAMBDA {
                for (int g = f; g < kEight; g += 4) words[g] = features.vectors + int64_t(column[g]) * 16;
                const __m128i low = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words[f]));
                const __m128i high = _mm_loadu_si128(reinterpret_cast<const __m128i*>(words[f + 4]));
                return _mm256_inserti128_si256(_mm256_castsi128_si256(low), high, 1);
            };
            const __m256i r0 = two(0), r1 = two(1), r2 = two(2), r3 = two(3);
            codes0 = _mm256_unpacklo_epi64(r0, r1);
            codes1 = _mm256_unpacklo_epi64(r2, r3);
            const __m256 n0 = _mm256_castsi256_ps(_mm256_unpackhi_epi64(r0, r1));
            const __m256 n1 = _mm256_castsi256_ps(_mm256_unpackhi_epi64(r2, r3));
            weight.part[0] = _mm256_shuffle_ps(n0, n1, _MM_SHUFFLE(2, 0, 2, 0));
            scale.part[0] = _mm256_shuffle_ps(n0, n1, _MM_SHUFFLE(3, 1, 3, 1));
            return;
        }
#endif
        float weights[kEight], scales[kEight];
        for (int f = 0; f < kEight; ++f) {
            apart[f] = features.word(column[f], at, n_bytes);
            words[f] = reinterpret_cast<const uint8_t*>(apart + f);
            weights[f] = features.weight(column[f]);
            scales[f] = features.scale(column[f]);
        }
        weight = Lanes<float>::load(weights);
        scale = Lanes<float>::load(scales);
#if defined(__AVX2__)
        const auto four = [&](int f) BITFM_INLINE_LAMBDA {
            return _mm256_setr_epi64x(int64_t(apart[f]), int64_t(apart[f + 1]), int64_t(apart[f + 4]),
                                      int64_t(apart[f + 5]));
        };
        codes0 = four(0);
        codes1 = four(2);
#endif
    }
#if defined(__AVX2__)
    __m256i codes0, codes1;  // of features 0, 1, 4, 5 and of 2, 3, 6, 7

    BITFM_INLINE void keep(int kept) {
        keep_words(kept);
        const auto mask = [&](__m256i bits) BITFM_INLINE_LAMBDA {
            return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32(kept), bits), bits);
        };
        const __m256 numbers = _mm256_castsi256_ps(mask(_mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128)));
        weight.part[0] = _mm256_and_ps(weight.part[0], numbers);
        scale.part[0] = _mm256_and_ps(scale.part[0], numbers);
        codes0 = _mm256_and_si256(codes0, mask(_mm256_setr_epi32(1, 1, 2, 2, 16, 16, 32, 32)));
        codes1 = _mm256_and_si256(codes1, mask(_mm256_setr_epi32(4, 4, 8, 8, 64, 64, 128, 128)));
    }
#else
    BITFM_INLINE void keep(int kept) {
        keep_words(kept);
        float weights[kEight], scales[kEight];
        weight.store(weights);
        scale.store(scales);
        for (int f = 0; f < kEight; ++f)
            if (!(kept >> f & 1)) weights[f] = scales[f] = 0;
        weight = Lanes<float>::load(weights);
        scale = Lanes<float>::load(scales);
    }
#endif
    BITFM_INLINE uint64_t word(int f) const {
        uint64_t bits;
        __builtin_memcpy(&bits, words[f], sizeof bits);
        return bits;
    }
    BITFM_INLINE Lanes<double> weights() const { return widen(weight); }
    BITFM_INLINE Lanes<double> multiply(const float* x, float* amounts) const {
        (Lanes<float>::load(x) * scale).store(amounts);
        return widen(Lanes<float>::load(x) * weight);
    }

    struct Scales {
        Bits8 expected, different = {};

        BITFM_INLINE explicit Scales(float scale) : expected(bits_of(scale) - Bits8{}) {}
        BITFM_INLINE void add(const EightFeatures& eight) {
            Bits8 scales;
            __builtin_memcpy(&scales, &eight.scale, sizeof scales);
            different |= scales ^ expected;
        }
        BITFM_INLINE operator bool() const { return !any(different); }
    };

  private:
    BITFM_INLINE void keep_words(int kept) {
        static constexpr uint8_t kNothing[8] = {};
        for (int f = 0; f < kEight; ++f)
            if (!(kept >> f & 1)) words[f] = kNothing;
    }
};
#endif

constexpr int kAll = 0xff;  // of eight

// visit(j, kept, eight) for each eight of a row's features from feature j on, asking for as many of the next row's.
// The last are the last eight of the row, of which those that were not visited before are to be kept; or if it has
// fewer than eight, the first of them fill up.
template <bool kRecord, bool kFar, class Visit>
BITFM_INLINE void each_eight(const PairTable& table, const RowEntries& row, const RowEntries& next, int at,
                             Visit&& visit) {
    const Features here(table, row.first), there(table, next.first);
    const int n_bytes = kRecord ? 8 : at + 8 <= table.width / 8 ? 8 : table.width / 8 - at;
    const auto ask_for = [&](int64_t column) BITFM_INLINE_LAMBDA {
        if constexpr (kRecord)
            __builtin_prefetch(there.vectors + column * 16);
        else
            there.ask_for<1>(column);
    };
    EightFeatures eight;
    int64_t j = 0;
    for (; j + kEight <= row.n; j += kEight) {
        if (kFar && j + kEight <= next.n)
            for (int f = 0; f < kEight; ++f) ask_for(next.column[j + f]);
        eight.template load<kRecord>(here, row.column + j, at, n_bytes);
        visit(j, kAll, eight);
    }
    if (kFar)
        for (int64_t i = j < next.n / kEight * kEight ? j : next.n / kEight * kEight; i < next.n; ++i)
            ask_for(next.column[i]);
    const int left = int(row.n - j);
    if (!left) return;
    if (j) {
        eight.template load<kRecord>(here, row.column + row.n - kEight, at, n_bytes);
        visit(row.n - kEight, kAll & kAll << (kEight - left), eight);
        return;
    }
    int32_t some[kEight];
    for (int f = 0; f < kEight; ++f) some[f] = row.column[f < left ? f : 0];
    eight.template load<kRecord>(here, some, at, n_bytes);
    visit(0, (1 << left) - 1, eight);
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
