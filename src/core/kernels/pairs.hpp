// Scores of pairs straight from a table of features: what the features of a row sum to, and products of that.
//
// Lane t of a sum takes the features in a written order, so all instruction sets round alike.
#pragma once

#include "kernels/code_sums.hpp"

namespace bitfm::BITFM_ISA {
namespace {

double sum_squares(const PairTable& table, const RowEntries& row) {
    const Features features(table, row.first);
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

// visit(j) for each entry of a row, asking for what comes some time later: in this row, and at its end in the next.
template <int kLines, bool kScales, class Visit>
BITFM_INLINE void each_entry(const Features& here, const Features& there, const RowEntries& row, const RowEntries& next,
                             Visit&& visit) {
    constexpr int64_t kAhead = 12;  // tried: more lines at once are not asked for any sooner
    const int64_t coming = next.n < kAhead ? next.n : kAhead;
    int64_t j = 0, i = 0;
    for (; j + kAhead < row.n; ++j) {
        here.template ask_for<kLines, kScales>(row.column[j + kAhead]);
        visit(j);
    }
    for (; j < row.n && i < coming; ++j, ++i) {
        there.template ask_for<kLines, kScales>(next.column[i]);
        visit(j);
    }
    for (; j < row.n; ++j) visit(j);
    for (; i < coming; ++i) there.template ask_for<kLines, kScales>(next.column[i]);
}

// Vectors of numbers, 64 at a time: what codes are compared with. Products are fused with their sums, by the portable
// kernel too: nothing else in this folder may, but a table of floats shall be read as fast as can be.
struct NumberSums {
#if defined(__AVX512F__)
    __m512 part[4];

    BITFM_INLINE void load(const float* from) {
        for (int m = 0; m < 4; ++m) part[m] = _mm512_loadu_ps(from + 16 * m);
    }
    BITFM_INLINE void store(float* to) const {
        for (int m = 0; m < 4; ++m) _mm512_storeu_ps(to + 16 * m, part[m]);
    }
    BITFM_INLINE void add(const float* vector, float amount) {
        const __m512 all = _mm512_set1_ps(amount);
        for (int m = 0; m < 4; ++m) part[m] = _mm512_fmadd_ps(_mm512_loadu_ps(vector + 16 * m), all, part[m]);
    }
    BITFM_INLINE void add(const int8_t* vector, float amount) {
        const __m512 all = _mm512_set1_ps(amount);
        for (int m = 0; m < 4; ++m) {
            const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(vector + 16 * m));
            part[m] = _mm512_fmadd_ps(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)), all, part[m]);
        }
    }
#elif defined(__AVX2__)
    __m256 part[8];

    BITFM_INLINE void load(const float* from) {
        for (int m = 0; m < 8; ++m) part[m] = _mm256_loadu_ps(from + 8 * m);
    }
    BITFM_INLINE void store(float* to) const {
        for (int m = 0; m < 8; ++m) _mm256_storeu_ps(to + 8 * m, part[m]);
    }
    BITFM_INLINE void add(const float* vector, float amount) {
        const __m256 all = _mm256_set1_ps(amount);
        for (int m = 0; m < 8; ++m) part[m] = _mm256_fmadd_ps(_mm256_loadu_ps(vector + 8 * m), all, part[m]);
    }
    BITFM_INLINE void add(const int8_t* vector, float amount) {
        const __m256 all = _mm256_set1_ps(amount);
        for (int m = 0; m < 8; ++m) {
            const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(vector + 8 * m));
            part[m] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)), all, part[m]);
        }
    }
#else
    float sum[kSumsAtOnce];

    BITFM_INLINE void load(const float* from) { __builtin_memcpy(sum, from, sizeof sum); }
    BITFM_INLINE void store(float* to) const { __builtin_memcpy(to, sum, sizeof sum); }
    template <class Number>
    BITFM_INLINE void add(const Number* vector, float amount) {
        for (int t = 0; t < kSumsAtOnce; ++t) sum[t] = __builtin_fmaf(float(vector[t]), amount, sum[t]);
    }
#endif
};

// kPlain: vectors of 64 numbers side by side, and the weights too.
template <class Number, bool kPlain>
void sum_numbers(const PairTable& table, const RowEntries& row, const RowEntries& next, RowSums* out) {
    constexpr int kBytes = kSumsAtOnce * int(sizeof(Number));
    constexpr bool kScales = sizeof(Number) == 1;
    Features here(table, row.first), there(table, next.first);
    if constexpr (kPlain) {
        here.vector_stride = there.vector_stride = kBytes;
        here.weight_stride = there.weight_stride = sizeof(float);
        here.records = there.records = false;
    }
    const RowEntries nothing;
    for (int at = 0; at < table.width; at += kSumsAtOnce) {
        NumberSums sums;
        sums.load(out->q + at);
        double linear = 0;
        const auto visit = [&](int64_t j) BITFM_INLINE_LAMBDA {
            const int32_t column = row.column[j];
            const float x = row.x[j], amount = kScales ? x * here.scale(column) : x;
            sums.add(reinterpret_cast<const Number*>(here.vector(column)) + at, amount);
            linear += double(x * here.weight(column));
        };
        // The weight of a record lies on a line more.
        each_entry<kBytes / 64 + !kPlain, kScales>(here, there, row, at ? nothing : next, visit);
        sums.store(out->q + at);
        if (at == 0) out->linear += linear;
    }
}

BITFM_INLINE void sum_part(const PairTable& table, const RowEntries& row, const RowEntries& next, RowSums* out) {
    switch (table.kind) {
        case PairTable::Kind::codes:
            return table.records && table.width == 64 && table.vector_stride == 16
                       ? sum_codes<true>(table, row, next, out)
                       : sum_codes<false>(table, row, next, out);
        case PairTable::Kind::reals:
            return table.width == kSumsAtOnce && !table.records ? sum_numbers<float, true>(table, row, next, out)
                                                                : sum_numbers<float, false>(table, row, next, out);
        case PairTable::Kind::bytes:
            return sum_numbers<int8_t, false>(table, row, next, out);
    }
}

void sum_features(const PairTable& table, const RowEntries* parts, int64_t n_parts, RowSums* out) {
    for (int t = 0; t < table.width; t += kLanes) Lanes<float>::fill(0).store(out->q + t);
    out->linear = 0;
    for (int64_t p = 0; p < n_parts; ++p) sum_part(table, parts[p], parts[p + 1], out);
}

// Σ a b in single precision, eight sums side by side; the width is a multiple of 8.
float short_product(const float* a, const float* b, int width) {
    Lanes<float> sum = Lanes<float>::fill(0);
    for (int t = 0; t < width; t += kLanes) sum += Lanes<float>::load(a + t) * Lanes<float>::load(b + t);
    return sum.sum();
}

BITFM_INLINE int differing_bits(const uint8_t* a, const uint8_t* b, int n_bytes) {
    int n = 0, at = 0;
    for (; at + 8 <= n_bytes; at += 8) {
        uint64_t first, second;
        __builtin_memcpy(&first, a + at, 8);
        __builtin_memcpy(&second, b + at, 8);
        n += __builtin_popcountll(first ^ second);
    }
    for (; at < n_bytes; ++at) n += __builtin_popcount(unsigned(a[at] ^ b[at]));
    return n;
}

// kBytes of a code, or 0 where they are not known beforehand; reals have none.
template <bool kCodes, int kBytes>
void score_ids_of(const PairTable& table, const IdBlock* blocks, int n_blocks, double bias, int64_t begin, int64_t end,
                  double* out) {
    constexpr int64_t kAhead = 24;
    const int n_bytes = kBytes ? kBytes : table.width / 8;
    const Features features(table, 0);
    for (int64_t s = begin; s < end; ++s) {
        double score = bias;
        for (int b = 0; b < n_blocks; ++b) {
            if (s + kAhead < end) {
                const int64_t coming = blocks[b].first + blocks[b].rows[s + kAhead];
                if (kCodes)
                    features.ask_for<1>(coming);
                else
                    features.ask_for<4, false>(coming);
            }
            const int64_t feature = blocks[b].first + blocks[b].rows[s];
            score += double(features.weight(feature));
            for (int c = 0; c < b; ++c) {
                const int64_t other = blocks[c].first + blocks[c].rows[s];
                const uint8_t *one = features.vector(other), *two = features.vector(feature);
                if constexpr (kCodes)
                    score += double(features.scale(other)) * double(features.scale(feature)) *
                             double(table.width - 2 * differing_bits(one, two, n_bytes));
                else
                    score += double(short_product(reinterpret_cast<const float*>(one),
                                                  reinterpret_cast<const float*>(two), table.width));
            }
        }
        out[s] = score;
    }
}

void score_ids(const PairTable& table, const IdBlock* blocks, int n_blocks, double bias, int64_t begin, int64_t end,
               double* out) {
    if (table.kind == PairTable::Kind::reals)
        score_ids_of<false, 0>(table, blocks, n_blocks, bias, begin, end, out);
    else if (table.width == 64)
        score_ids_of<true, 8>(table, blocks, n_blocks, bias, begin, end, out);
    else
        score_ids_of<true, 0>(table, blocks, n_blocks, bias, begin, end, out);
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
