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
    BITFM_INLINE void keep(int n) {
        bits = _mm512_and_si512(bits, _mm512_set1_epi8(char((1 << n) - 1)));
        numbers = _mm512_maskz_mov_ps(__mmask16(((1 << n) - 1) * 0x101), numbers);
    }
    BITFM_INLINE Lanes<double> weights() const { return wide(_mm512_castps512_ps256(numbers)); }
    BITFM_INLINE bool differ(float scale, int n) const {
        const __m256 scales = _mm512_extractf32x8_ps(numbers, 1);
        return _mm256_cmpneq_epi32_mask(_mm256_castps_si256(scales), _mm256_set1_epi32(int32_t(bits_of(scale)))) &
               ((1 << n) - 1);
    }
    // x · scale, and of the weights the products.
    BITFM_INLINE Lanes<double> multiply(const float* x, float* amounts) const {
        const __m256 eight = _mm256_loadu_ps(x);
        const __m512 products = _mm512_mul_ps(numbers, _mm512_broadcast_f32x8(eight));
        _mm256_store_ps(amounts, _mm512_extractf32x8_ps(products, 1));
        return wide(_mm512_castps512_ps256(products));
    }

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
            __m128 weights[2], scales[2];
            for (int h = 0; h < 2; ++h) {
                const auto two = [&](int f) {
                    const auto at_column = [&](int g) {
                        words[g] = features.vectors + int64_t(column[g]) * 16;
                        return _mm_loadu_ps(reinterpret_cast<const float*>(words[g]));
                    };
                    return _mm_movehl_ps(at_column(f + 1), at_column(f));
                };
                const __m128 first = two(4 * h), second = two(4 * h + 2);
                weights[h] = _mm_shuffle_ps(first, second, _MM_SHUFFLE(2, 0, 2, 0));
                scales[h] = _mm_shuffle_ps(first, second, _MM_SHUFFLE(3, 1, 3, 1));
            }
            weight.part[0] = _mm256_set_m128(weights[1], weights[0]);
            scale.part[0] = _mm256_set_m128(scales[1], scales[0]);
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
    }
    BITFM_INLINE void keep(int n) {
        static constexpr uint8_t kNothing[8] = {};
        for (int f = n; f < kEight; ++f) words[f] = kNothing;
#if defined(__AVX2__)
        const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256 kept = _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_set1_epi32(n), places));
        weight.part[0] = _mm256_and_ps(weight.part[0], kept);
        scale.part[0] = _mm256_and_ps(scale.part[0], kept);
#else
        float weights[kEight], scales[kEight];
        weight.store(weights);
        scale.store(scales);
        for (int f = n; f < kEight; ++f) weights[f] = scales[f] = 0;
        weight = Lanes<float>::load(weights);
        scale = Lanes<float>::load(scales);
#endif
    }
    BITFM_INLINE uint64_t word(int f) const {
        uint64_t bits;
        __builtin_memcpy(&bits, words[f], sizeof bits);
        return bits;
    }
    BITFM_INLINE Lanes<double> weights() const { return widen(weight); }
    BITFM_INLINE bool differ(float other, int n) const {
#if defined(__AVX2__)
        const __m256i same =
            _mm256_cmpeq_epi32(_mm256_castps_si256(__m256(scale.part[0])), _mm256_set1_epi32(int32_t(bits_of(other))));
        return ~_mm256_movemask_ps(_mm256_castsi256_ps(same)) & ((1 << n) - 1);
#else
        float scales[kEight];
        scale.store(scales);
        uint32_t different = 0;
        for (int f = 0; f < n; ++f) different |= bits_of(scales[f]) ^ bits_of(other);
        return different;
#endif
    }
    BITFM_INLINE Lanes<double> multiply(const float* x, float* amounts) const {
        (Lanes<float>::load(x) * scale).store(amounts);
        return widen(Lanes<float>::load(x) * weight);
    }
};
#endif

// visit(j, n, eight) for each eight of a row's features, asking for as many of the next row's.
template <bool kRecord, class Visit>
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
    for (int64_t j = 0; j < row.n; j += kEight) {
        if (table.far && j + kEight <= next.n)
            for (int f = 0; f < kEight; ++f) ask_for(next.column[j + f]);
        const int n = row.n - j < kEight ? int(row.n - j) : kEight;
        const int32_t* column = row.column + j;
        int32_t some[kEight];
        if (n < kEight) {
            for (int f = 0; f < kEight; ++f) some[f] = column[f < n ? f : 0];
            column = some;
        }
        EightFeatures eight;
        eight.template load<kRecord>(here, column, at, n_bytes);
        if (n < kEight) eight.keep(n);
        visit(j, n, eight);
    }
    if (!table.far) return;
    const int64_t asked = next.n / kEight * kEight, done = (row.n + kEight - 1) / kEight * kEight;
    for (int64_t j = done < asked ? done : asked; j < next.n; ++j) ask_for(next.column[j]);
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
