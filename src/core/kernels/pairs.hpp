// What the features of a row sum to, straight from a table of features.
//
// Lane t of a sum takes the features in order, so all instruction sets round alike.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

constexpr int64_t kWorthCounting = 8;  // features

// Where the vectors, weights and scales of a field's features are. Records of a known size are found by a shift.
template <int kStride>
struct Features {
    const uint8_t *vectors, *weights, *scales;
    int64_t vector_stride, weight_stride, scale_stride;
    bool records;

    BITFM_INLINE Features(const PairTable& table, int64_t first)
        : vectors(table.vectors + first * table.vector_stride),
          weights(table.weights + first * table.weight_stride),
          scales(table.scales + first * table.scale_stride),
          vector_stride(kStride ? kStride : table.vector_stride),
          weight_stride(kStride ? kStride : table.weight_stride),
          scale_stride(kStride ? kStride : table.scale_stride),
          records(kStride || table.records) {}

    static BITFM_INLINE float float_at(const uint8_t* at) {
        float value;
        __builtin_memcpy(&value, at, sizeof value);
        return value;
    }
    BITFM_INLINE const uint8_t* vector(int64_t column) const { return vectors + column * vector_stride; }
    BITFM_INLINE float weight(int64_t column) const { return float_at(weights + column * weight_stride); }
    BITFM_INLINE float scale(int64_t column) const { return float_at(scales + column * scale_stride); }
    // Ask for what a feature will need; of a record, lines from the first on.
    template <int kLines>
    BITFM_INLINE void ask_for(int64_t column) const {
        for (int line = 0; line < kLines; ++line) __builtin_prefetch(vector(column) + 64 * line);
        if (records) return;
        __builtin_prefetch(weights + column * weight_stride);
        __builtin_prefetch(scales + column * scale_stride);
    }
};

// visit(j) for each entry of a row, asking for what comes some time later: in this row, and at its end in the next.
template <int kStride, int kLines, class Visit>
BITFM_INLINE void each_entry(const PairTable& table, const RowEntries& row, const RowEntries& next, Visit&& visit) {
    constexpr int64_t kAhead = kLines == 1 ? 48 : 12;  // tried: more lines at once are not asked for any sooner
    const Features<kStride> here(table, row.first), there(table, next.first);
    const int64_t coming = next.n < kAhead ? next.n : kAhead;
    int64_t j = 0, i = 0;
    for (; j + kAhead < row.n; ++j) {
        here.template ask_for<kLines>(row.column[j + kAhead]);
        visit(j);
    }
    for (; j < row.n && i < coming; ++j, ++i) {
        there.template ask_for<kLines>(next.column[i]);
        visit(j);
    }
    for (; j < row.n; ++j) visit(j);
    for (; i < coming; ++i) there.template ask_for<kLines>(next.column[i]);
}

BITFM_INLINE uint32_t bits_of(float value) {
    uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

// A word of a code, or the bytes that are left of it. Each half can go from memory to where it is needed.
struct HalfWords {
    uint32_t low = 0, high = 0;

    template <bool kWhole>
    static BITFM_INLINE HalfWords at(const uint8_t* code, int n_bytes) {
        HalfWords word;
        if constexpr (kWhole) {
            __builtin_memcpy(&word.low, code, 4);
            __builtin_memcpy(&word.high, code + 4, 4);
        } else {
            for (int b = 0; b < n_bytes; ++b) (b < 4 ? word.low : word.high) |= uint32_t(code[b]) << b % 4 * 8;
        }
        return word;
    }
    BITFM_INLINE uint64_t whole() const { return low | uint64_t(high) << 32; }
};

#if defined(__AVX2__) && !defined(__AVX512F__)
typedef __m256 Sums64[8];

BITFM_INLINE void add_signed(HalfWords word, float amount, Sums64& sums) {
    // A lane's bit goes where its sign would be, and picks one of two: first those of the last byte, then those before.
    const __m256i to_sign = _mm256_setr_epi32(7, 6, 5, 4, 3, 2, 1, 0);
    const __m256 plus = _mm256_set1_ps(amount), minus = _mm256_xor_ps(plus, _mm256_set1_ps(-0.0f));
    __m256i half[2] = {_mm256_set1_epi32(int32_t(word.low)), _mm256_set1_epi32(int32_t(word.high))};
    for (int h = 0; h < 2; ++h) half[h] = _mm256_sllv_epi32(half[h], to_sign);
    for (int m = 3; m >= 0; --m)
        for (int h = 0; h < 2; ++h) {
            const __m256 bit = _mm256_castsi256_ps(_mm256_slli_epi32(half[h], 8 * (3 - m)));
            sums[4 * h + m] = _mm256_add_ps(sums[4 * h + m], _mm256_blendv_ps(minus, plus, bit));
        }
}
BITFM_INLINE void load_sums(const float* from, Sums64& sums) {
    for (int m = 0; m < 8; ++m) sums[m] = _mm256_loadu_ps(from + 8 * m);
}
BITFM_INLINE void store_sums(const Sums64& sums, float* to) {
    for (int m = 0; m < 8; ++m) _mm256_storeu_ps(to + 8 * m, sums[m]);
}
#elif defined(__AVX512F__)
typedef __m512 Sums64[4];

BITFM_INLINE void add_signed(HalfWords halves, float amount, Sums64& sums) {
    const uint64_t word = halves.whole();
    const __m512 plus = _mm512_set1_ps(amount), minus = _mm512_set1_ps(-amount);
    for (int m = 0; m < 4; ++m)
        sums[m] = _mm512_add_ps(sums[m], _mm512_mask_blend_ps(__mmask16(word >> 16 * m), minus, plus));
}
BITFM_INLINE void load_sums(const float* from, Sums64& sums) {
    for (int m = 0; m < 4; ++m) sums[m] = _mm512_loadu_ps(from + 16 * m);
}
BITFM_INLINE void store_sums(const Sums64& sums, float* to) {
    for (int m = 0; m < 4; ++m) _mm512_storeu_ps(to + 16 * m, sums[m]);
}
#else
typedef float Sums64[64];

BITFM_INLINE void add_signed(HalfWords halves, float amount, Sums64& sums) {
    const uint64_t word = halves.whole();
    for (int t = 0; t < 64; ++t) sums[t] += word >> t & 1 ? amount : -amount;
}
BITFM_INLINE void load_sums(const float* from, Sums64& sums) {
    __builtin_memcpy(sums, from, sizeof sums);
}
BITFM_INLINE void store_sums(const Sums64& sums, float* to) {
    __builtin_memcpy(to, sums, sizeof sums);
}
#endif

// How many of some words have each of their bits set.
struct Counts64 {
#if defined(__AVX2__)
    __m256i part[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};

    BITFM_INLINE void add(uint64_t word) {
        const __m256i low = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
        const __m256i high = _mm256_or_si256(low, _mm256_set1_epi8(4));
        const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201));
        const __m256i all = _mm256_set1_epi64x(int64_t(word));
        const __m256i one[2] = {_mm256_shuffle_epi8(all, low), _mm256_shuffle_epi8(all, high)};
        for (int h = 0; h < 2; ++h)
            part[h] = _mm256_sub_epi8(part[h], _mm256_cmpeq_epi8(_mm256_and_si256(one[h], bit), bit));
    }
    BITFM_INLINE void store(uint8_t* to) const {
        for (int h = 0; h < 2; ++h) _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + 32 * h), part[h]);
    }
#else
    uint8_t count[64] = {};

    BITFM_INLINE void add(uint64_t word) {
        for (int t = 0; t < 64; ++t) count[t] = uint8_t(count[t] + (word >> t & 1));
    }
    BITFM_INLINE void store(uint8_t* to) const { __builtin_memcpy(to, count, sizeof count); }
#endif
};

// A word of the codes of features that all count the same; false, and nothing done, if their scales differ.
template <bool kWhole, int kStride>
bool count_word(const PairTable& table, const RowEntries& row, const RowEntries& next, int at, RowSums* out) {
    const Features<kStride> features(table, row.first);
    const int n_bytes = kWhole ? 8 : table.width / 8 - at;
    const float scale = features.scale(row.column[0]);
    double weights = 0;
    Counts64 counts;
    uint32_t different = 0;
    each_entry<kStride, 1>(table, row, next, [&](int64_t j) BITFM_INLINE_LAMBDA {
        const int32_t column = row.column[j];
        different |= bits_of(features.scale(column)) ^ bits_of(scale);
        weights += double(features.weight(column));
        counts.add(HalfWords::at<kWhole>(features.vector(column) + at, n_bytes).whole());
    });
    if (different) return false;
    uint8_t set[64];
    counts.store(set);
    const float amount = row.x[0] * scale;
    for (int t = 0; t < 64; ++t) out->q[8 * at + t] += amount * float(2 * set[t] - int(row.n));
    if (at == 0) out->linear += double(row.x[0]) * weights;
    return true;
}

template <bool kWhole, int kStride>
void add_word(const PairTable& table, const RowEntries& row, const RowEntries& next, int at, RowSums* out) {
    const Features<kStride> features(table, row.first);
    const int n_bytes = kWhole ? 8 : table.width / 8 - at;
    Sums64 sums;
    load_sums(out->q + 8 * at, sums);
    double linear = 0;
    each_entry<kStride, 1>(table, row, next, [&](int64_t j) BITFM_INLINE_LAMBDA {
        const int32_t column = row.column[j];
        const float x = row.x[j];
        add_signed(HalfWords::at<kWhole>(features.vector(column) + at, n_bytes), x * features.scale(column), sums);
        linear += double(x * features.weight(column));
    });
    store_sums(sums, out->q + 8 * at);
    if (at == 0) out->linear += linear;
}

BITFM_INLINE bool all_the_same(const float* x, int64_t n) {
    uint32_t different = 0;
    for (int64_t j = 1; j < n; ++j) different |= bits_of(x[j]) ^ bits_of(x[0]);
    return !different;
}

template <int kStride>
void sum_codes(const PairTable& table, const RowEntries& row, const RowEntries& next, RowSums* out) {
    // Two features tell whether all might have the same scale; counting finds out, seldom in vain.
    const Features<kStride> features(table, row.first);
    bool same = row.n >= kWorthCounting && features.scale(row.column[0]) == features.scale(row.column[1]) &&
                all_the_same(row.x, row.n);
    const RowEntries nothing;  // to ask for again
    const int bytes = table.width / 8, whole = bytes / 8 * 8;
    for (int at = 0; at < whole; at += 8) {
        const RowEntries& coming = at ? nothing : next;
        same = same && count_word<true, kStride>(table, row, coming, at, out);
        if (!same) add_word<true, kStride>(table, row, coming, at, out);
    }
    const RowEntries& coming = whole ? nothing : next;
    if (whole < bytes && !(same && count_word<false, kStride>(table, row, coming, whole, out)))
        add_word<false, kStride>(table, row, coming, whole, out);
}

double sum_squares(const PairTable& table, const RowEntries& row) {
    const Features<0> features(table, row.first);
    double sum[4] = {};  // one would be waited for at each step
    int64_t j = 0;
    const auto add = [&](int64_t at, double& to) BITFM_INLINE_LAMBDA {
        const auto amount = double(row.x[at] * features.scale(row.column[at]));
        to += amount * amount;
    };
    for (; j + 4 <= row.n; j += 4)
        for (int i = 0; i < 4; ++i) add(j + i, sum[i]);
    for (; j < row.n; ++j) add(j, sum[0]);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) * table.width;
}

// Eight numbers of a feature's vector, as they are kept.
BITFM_INLINE Lanes<float> eight_of(const float* from) {
    return Lanes<float>::load(from);
}
BITFM_INLINE Lanes<float> eight_of(const int8_t* from) {
    Lanes<float> lanes;
#if defined(__AVX2__)
    const __m256i whole = _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)));
    lanes.part[0] = _mm256_cvtepi32_ps(whole);
#else
    float value[kLanes];
    for (int t = 0; t < kLanes; ++t) value[t] = float(from[t]);
    lanes = Lanes<float>::load(value);
#endif
    return lanes;
}

// Vectors of numbers, 64 at a time: what codes are compared with.
template <class Number>
void sum_numbers(const PairTable& table, const RowEntries& row, const RowEntries& next, RowSums* out) {
    constexpr int kBlock = kSumsAtOnce, kParts = kBlock / kLanes, kLines = (kBlock * int(sizeof(Number)) + 8 + 63) / 64;
    const Features<0> features(table, row.first);
    const RowEntries nothing;
    for (int at = 0; at < table.width; at += kBlock) {
        Lanes<float> sums[kParts];
        for (int m = 0; m < kParts; ++m) sums[m] = Lanes<float>::load(out->q + at + m * kLanes);
        double linear = 0;
        each_entry<0, kLines>(table, row, at ? nothing : next, [&](int64_t j) BITFM_INLINE_LAMBDA {
            const int32_t column = row.column[j];
            const float x = row.x[j], amount = sizeof(Number) == 1 ? x * features.scale(column) : x;
            const auto* v = reinterpret_cast<const Number*>(features.vector(column)) + at;
            for (int m = 0; m < kParts; ++m) sums[m] += eight_of(v + m * kLanes) * amount;
            linear += double(x * features.weight(column));
        });
        for (int m = 0; m < kParts; ++m) sums[m].store(out->q + at + m * kLanes);
        if (at == 0) out->linear += linear;
    }
}

void sum_features(const PairTable& table, const RowEntries& row, const RowEntries& next, RowSums* out) {
    switch (table.kind) {
        case PairTable::Kind::codes:
            return table.records && table.vector_stride == 16 ? sum_codes<16>(table, row, next, out)
                                                              : sum_codes<0>(table, row, next, out);
        case PairTable::Kind::reals:
            return sum_numbers<float>(table, row, next, out);
        case PairTable::Kind::bytes:
            return sum_numbers<int8_t>(table, row, next, out);
    }
}

// Σ a b in single precision, eight sums side by side; the width is a multiple of 8.
float short_product(const float* a, const float* b, int width) {
    Lanes<float> sum = Lanes<float>::fill(0);
    for (int t = 0; t < width; t += kLanes) sum += Lanes<float>::load(a + t) * Lanes<float>::load(b + t);
    return sum.sum();
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
