// How often the codes of a row's features have each bit set, where all of the features count the same.
//
// AVX-512 counts bits in the transposed codes of eight features. AVX2 adds codes as numbers of which each bit is in a
// word of its own, four at a time, and takes these numbers apart every 56 features.
#pragma once

#include "kernels/eight_features.hpp"

namespace bitfm::BITFM_ISA {
namespace {

constexpr int64_t kWorthCounting = 8;  // features

// How many of some words have each of their bits set.
struct Counts64 {
#if defined(__AVX512F__)
    __m512i count = _mm512_setzero_si512();

    BITFM_INLINE void add(const EightFeatures& eight) {
        count = _mm512_add_epi8(count, _mm512_popcnt_epi8(eight.bits));
    }
    // Of each bit, words that have it less ones that do not.
    BITFM_INLINE void store_excess(int n, int16_t* to) const {
        const auto half = [&](__m256i set) BITFM_INLINE_LAMBDA {
            return _mm512_sub_epi16(_mm512_slli_epi16(_mm512_cvtepu8_epi16(set), 1), _mm512_set1_epi16(int16_t(n)));
        };
        _mm512_storeu_si512(to, half(_mm512_castsi512_si256(count)));
        _mm512_storeu_si512(to + 32, half(_mm512_extracti64x4_epi64(count, 1)));
    }
#elif defined(__AVX2__)
    __m256i low = _mm256_setzero_si256(), high = low;           // bytes
    __m256i ones = low, twos = low, fours = low, eights = low;  // of each bit of four words, a number in binary
    int pending = 0;

    BITFM_INLINE void add(const EightFeatures& eight) {
        constexpr int kMost = 7;  // twos in 15
        const __m256i a = eight.codes0, b = eight.codes1, either = _mm256_xor_si256(a, b);
        const __m256i two = _mm256_or_si256(_mm256_and_si256(a, b), _mm256_and_si256(either, ones));
        ones = _mm256_xor_si256(ones, either);
        const __m256i four = _mm256_and_si256(twos, two);
        twos = _mm256_xor_si256(twos, two);
        eights = _mm256_xor_si256(eights, _mm256_and_si256(fours, four));
        fours = _mm256_xor_si256(fours, four);
        if (++pending == kMost) flush();
    }
    BITFM_INLINE void store_excess(int n, int16_t* to) {
        if (pending) flush();
        const auto quarter = [&](__m128i set, int at) BITFM_INLINE_LAMBDA {
            const __m256i wide = _mm256_cvtepu8_epi16(set);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at),
                                _mm256_sub_epi16(_mm256_add_epi16(wide, wide), _mm256_set1_epi16(int16_t(n))));
        };
        quarter(_mm256_castsi256_si128(low), 0);
        quarter(_mm256_extracti128_si256(low, 1), 16);
        quarter(_mm256_castsi256_si128(high), 32);
        quarter(_mm256_extracti128_si256(high, 1), 48);
    }

  private:
    // From numbers across four words to bytes: fields of two bits, of four, and of eight; then the four are added.
    BITFM_INLINE void flush() {
        const auto both = [](__m256i a, __m256i b, int mask, int by, __m256i& even, __m256i& odd) BITFM_INLINE_LAMBDA {
            const __m256i m = _mm256_set1_epi8(char(mask));
            even = _mm256_or_si256(_mm256_and_si256(a, m), _mm256_slli_epi64(_mm256_and_si256(b, m), by));
            odd = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi64(a, by), m), _mm256_andnot_si256(m, b));
        };
        __m256i even3, odd3, even12, odd12, at0, at1, at2, at3;
        both(ones, twos, 0x55, 1, even3, odd3);
        both(fours, eights, 0x55, 1, even12, odd12);
        both(even3, even12, 0x33, 2, at0, at2);
        both(odd3, odd12, 0x33, 2, at1, at3);
        const __m256i m = _mm256_set1_epi8(0xf);
        const auto lower = [&](__m256i a) BITFM_INLINE_LAMBDA { return _mm256_and_si256(a, m); };
        const auto upper = [&](__m256i a) BITFM_INLINE_LAMBDA { return _mm256_and_si256(_mm256_srli_epi64(a, 4), m); };
        // Bit r of each byte: words a0 + a1, b0 + b1, a2 + a3, b2 + b3.
        const auto fold = [](__m256i a, __m256i b) BITFM_INLINE_LAMBDA {
            return _mm256_add_epi8(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b));
        };
        const __m256i f01 = fold(lower(at0), lower(at1)), f23 = fold(lower(at2), lower(at3));
        const __m256i f45 = fold(upper(at0), upper(at1)), f67 = fold(upper(at2), upper(at3));
        const auto halves = [](__m256i a, __m256i b) BITFM_INLINE_LAMBDA {
            return _mm256_add_epi8(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
        };
        // Bits 0, 1 | 4, 5 and 2, 3 | 6, 7 of all bytes, to be interleaved.
        const __m256i pairs = _mm256_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15, 0, 8, 1, 9, 2, 10,
                                               3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
        const __m256i first = _mm256_shuffle_epi8(halves(f01, f45), pairs);
        const __m256i second = _mm256_shuffle_epi8(halves(f23, f67), pairs);
        const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
        low = _mm256_add_epi8(low, _mm256_permutevar8x32_epi32(_mm256_unpacklo_epi16(first, second), order));
        high = _mm256_add_epi8(high, _mm256_permutevar8x32_epi32(_mm256_unpackhi_epi16(first, second), order));
        ones = twos = fours = eights = _mm256_setzero_si256();
        pending = 0;
    }
#else
    uint8_t count[64] = {};

    BITFM_INLINE void add(const EightFeatures& eight) {
        for (int f = 0; f < kEight; ++f)
            for (int t = 0; t < 64; ++t) count[t] = uint8_t(count[t] + (eight.word(f) >> t & 1));
    }
    BITFM_INLINE void store_excess(int n, int16_t* to) const {
        for (int t = 0; t < 64; ++t) to[t] = int16_t(2 * count[t] - n);
    }
#endif
};

// Σ a b of such numbers; there are zeros up to a multiple of 64.
BITFM_INLINE int64_t whole_product(const int16_t* a, const int16_t* b, int width) {
    int64_t sum = 0;
    for (int t = 0; t < width; t += 64) {
#if defined(__AVX512F__)
        const auto part = [&](int at) BITFM_INLINE_LAMBDA {
            return _mm512_madd_epi16(_mm512_loadu_si512(a + at), _mm512_loadu_si512(b + at));
        };
        const __m512i all = _mm512_add_epi32(part(t), part(t + 32));
        const __m256i half = _mm256_add_epi32(_mm512_castsi512_si256(all), _mm512_extracti64x4_epi64(all, 1));
#elif defined(__AVX2__)
        const auto part = [&](int at) BITFM_INLINE_LAMBDA {
            return _mm256_madd_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(a + at)),
                                     _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b + at)));
        };
        const __m256i half =
            _mm256_add_epi32(_mm256_add_epi32(part(t), part(t + 16)), _mm256_add_epi32(part(t + 32), part(t + 48)));
#endif
#if defined(__AVX2__)
        __m128i few = _mm_add_epi32(_mm256_castsi256_si128(half), _mm256_extracti128_si256(half, 1));
        few = _mm_add_epi32(few, _mm_unpackhi_epi64(few, few));
        sum += _mm_cvtsi128_si32(few) + _mm_extract_epi32(few, 1);
#else
        int32_t of_word = 0;
        for (int i = t; i < t + 64; ++i) of_word += int32_t(a[i]) * b[i];
        sum += of_word;
#endif
    }
    return sum;
}

template <class Bits>
BITFM_INLINE bool all_the_same(const float* x, int64_t n) {
    constexpr int kN = sizeof(Bits) / sizeof(float);
    const Bits first = bits_of(x[0]) - Bits{};
    Bits different = {};
    const auto add = [&](int64_t j) BITFM_INLINE_LAMBDA {
        Bits some;
        __builtin_memcpy(&some, x + j, sizeof some);
        different |= some ^ first;
    };
    for (int64_t j = 0; j + kN < n; j += kN) add(j);
    add(n - kN);
    return !any(different);
}
BITFM_INLINE bool all_the_same(const float* x, int64_t n) {
#if defined(__AVX512F__)
    if (n >= 16) return all_the_same<Bits16>(x, n);
#endif
    return all_the_same<Bits8>(x, n);
}

// Counts a row of which all features count the same; false if they do not.
template <bool kRecord, bool kFar>
BITFM_INLINE bool count_row(const PairTable& table, const RowEntries& row, const RowEntries& next, RowSums& out,
                            Lanes<double>& linear) {
    if (row.n < kWorthCounting) return false;
    // Two features tell whether all might have the same scale; counting finds out, seldom in vain.
    const Features features(table, row.first);
    const float scale = features.scale(row.column[0]);
    if (bits_of(scale) != bits_of(features.scale(row.column[1]))) return false;
    if (!row.equal && !all_the_same(row.x, row.n)) return false;
    const int n_bytes = kRecord ? 8 : table.width / 8;
    Lanes<double> weights = Lanes<double>::fill(0);
    const RowEntries nothing;  // to ask for again
    for (int at = 0; at < n_bytes; at += 8) {
        Counts64 counts;
        EightFeatures::Scales same(scale);
        each_eight<kRecord, kFar>(table, row, at ? nothing : next, at,
                                  [&](int64_t, int kept, EightFeatures& eight) BITFM_INLINE_LAMBDA {
                                      same.add(eight);
                                      if (kept != kAll) eight.keep(kept);
                                      if (at == 0) weights += eight.weights();
                                      counts.add(eight);
                                  });
        if (!same) return false;
        counts.store_excess(int(row.n), out.excess + 8 * at);
        for (int t = table.width; t < 8 * at + 64; ++t) out.excess[t] = 0;
    }
    out.amount = row.x[0] * scale;
    linear += weights * double(row.x[0]);
    return true;
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
