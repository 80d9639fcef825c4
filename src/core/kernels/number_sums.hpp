// What vectors of numbers sum to, float32 or int8: the tables that codes are compared with.
#pragma once

#include "kernels/features.hpp"

namespace bitfm::BITFM_ISA {
namespace {

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

    BITFM_INLINE void clear() {
        for (int m = 0; m < 4; ++m) part[m] = _mm512_setzero_ps();
    }
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

    BITFM_INLINE void clear() {
        for (int m = 0; m < 8; ++m) part[m] = _mm256_setzero_ps();
    }
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

    BITFM_INLINE void clear() { __builtin_memset(sum, 0, sizeof sum); }
    BITFM_INLINE void load(const float* from) { __builtin_memcpy(sum, from, sizeof sum); }
    BITFM_INLINE void store(float* to) const { __builtin_memcpy(to, sum, sizeof sum); }
    template <class Number>
    BITFM_INLINE void add(const Number* vector, float amount) {
        for (int t = 0; t < kSumsAtOnce; ++t) sum[t] = __builtin_fmaf(float(vector[t]), amount, sum[t]);
    }
#endif
};

// kPlain: vectors of 64 numbers side by side, and the weights too. kEqual: all x are the same.
template <class Number, bool kPlain, bool kEqual>
void sum_numbers(const PairTable& table, const RowEntries& row, const RowEntries& next, bool first, RowSums& out) {
    constexpr int kBytes = kSumsAtOnce * int(sizeof(Number));
    constexpr bool kScales = sizeof(Number) == 1;
    Features here(table, row.first), there(table, next.first);
    if constexpr (kPlain) {
        here.vector_stride = there.vector_stride = kBytes;
        here.weight_stride = there.weight_stride = sizeof(float);
        here.records = there.records = false;
    }
    const float first_x = *row.x;
    const RowEntries nothing;
    for (int at = 0; at < table.width; at += kSumsAtOnce) {
        NumberSums sums;
        if (first)
            sums.clear();
        else
            sums.load(out.q + at);
        double linear = 0;
        const auto visit = [&](int64_t j) BITFM_INLINE_LAMBDA {
            const int32_t column = row.column[j];
            const float x = kEqual ? first_x : row.x[j], amount = kScales ? x * here.scale(column) : x;
            sums.add(reinterpret_cast<const Number*>(here.vector(column)) + at, amount);
            linear += double(x * here.weight(column));
        };
        // The weight of a record lies on a line more.
        each_entry<kBytes / 64 + !kPlain, kScales>(here, there, row, at ? nothing : next, visit);
        sums.store(out.q + at);
        if (at == 0) out.own += linear;
    }
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
