// What codes sum to in double precision, feature after feature: the vectors of a model's users and items.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

#if defined(__AVX512F__)
// Eight bytes of each code. Sums have names, since an array of them would not stay in registers.
BITFM_INLINE void add_code_words(const uint8_t* codes, int64_t stride, const CodeRow& row, double* sums) {
    __m512d s0 = _mm512_loadu_pd(sums), s1 = _mm512_loadu_pd(sums + 8), s2 = _mm512_loadu_pd(sums + 16);
    __m512d s3 = _mm512_loadu_pd(sums + 24), s4 = _mm512_loadu_pd(sums + 32), s5 = _mm512_loadu_pd(sums + 40);
    __m512d s6 = _mm512_loadu_pd(sums + 48), s7 = _mm512_loadu_pd(sums + 56);
    for (int64_t j = 0; j < row.n; ++j) {
        const uint8_t* code = codes + row.feature[j] * stride;
        const __m512d plus = _mm512_set1_pd(row.amount[j]), minus = _mm512_set1_pd(-row.amount[j]);
        const auto add = [&](__m512d sum, uint8_t byte) {
            return _mm512_add_pd(sum, _mm512_mask_blend_pd(__mmask8(byte), minus, plus));
        };
        s0 = add(s0, code[0]);
        s1 = add(s1, code[1]);
        s2 = add(s2, code[2]);
        s3 = add(s3, code[3]);
        s4 = add(s4, code[4]);
        s5 = add(s5, code[5]);
        s6 = add(s6, code[6]);
        s7 = add(s7, code[7]);
    }
    _mm512_storeu_pd(sums, s0);
    _mm512_storeu_pd(sums + 8, s1);
    _mm512_storeu_pd(sums + 16, s2);
    _mm512_storeu_pd(sums + 24, s3);
    _mm512_storeu_pd(sums + 32, s4);
    _mm512_storeu_pd(sums + 40, s5);
    _mm512_storeu_pd(sums + 48, s6);
    _mm512_storeu_pd(sums + 56, s7);
}
#endif

// The eight values that a byte of a code stands for.
struct SignsOfBytes {
    alignas(64) double of[256][8];
};
constexpr SignsOfBytes kSignsOfBytes = [] {
    SignsOfBytes signs{};
    for (int byte = 0; byte < 256; ++byte)
        for (int t = 0; t < 8; ++t) signs.of[byte][t] = byte >> t & 1 ? 1 : -1;
    return signs;
}();

void add_codes(const uint8_t* codes, int n_bytes, const CodeRow& row, double* sums) {
    int at = 0;
#if defined(__AVX512F__)
    for (; at + 8 <= n_bytes; at += 8) add_code_words(codes + at, n_bytes, row, sums + 8 * at);
#endif
    // Two bytes at a time, whose sums stay in registers. A product with ±1 is exact.
    for (; at < n_bytes; at += 2) {
        const bool both = at + 1 < n_bytes;
        auto first = Lanes<double>::load(sums + 8 * at), second = first;
        if (both) second = Lanes<double>::load(sums + 8 * at + 8);
        for (int64_t j = 0; j < row.n; ++j) {
            const uint8_t* code = codes + row.feature[j] * n_bytes + at;
            first += Lanes<double>::load(kSignsOfBytes.of[code[0]]) * row.amount[j];
            if (both) second += Lanes<double>::load(kSignsOfBytes.of[code[1]]) * row.amount[j];
        }
        first.store(sums + 8 * at);
        if (both) second.store(sums + 8 * at + 8);
    }
}

double wide_product(const double* a, const double* b, int width) {
    Lanes<double> sum = Lanes<double>::fill(0);
    for (int t = 0; t < width; t += kLanes) sum += Lanes<double>::load(a + t) * Lanes<double>::load(b + t);
    return sum.sum();
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
