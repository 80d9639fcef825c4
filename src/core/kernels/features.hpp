// Where a row finds the vectors, weights and scales of its features, and how it asks memory for them ahead of time.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

struct Features {
    const uint8_t *vectors, *weights, *scales;
    int64_t vector_stride, weight_stride, scale_stride;
    bool records;

    BITFM_INLINE Features(const PairTable& table, int64_t first)
        : vectors(table.vectors + first * table.vector_stride),
          weights(table.weights + first * table.weight_stride),
          scales(table.scales + first * table.scale_stride),
          vector_stride(table.vector_stride),
          weight_stride(table.weight_stride),
          scale_stride(table.scale_stride),
          records(table.records) {}

    static BITFM_INLINE float float_at(const uint8_t* at) {
        float value;
        __builtin_memcpy(&value, at, sizeof value);
        return value;
    }
    BITFM_INLINE const uint8_t* vector(int64_t column) const { return vectors + column * vector_stride; }
    BITFM_INLINE float weight(int64_t column) const { return float_at(weights + column * weight_stride); }
    BITFM_INLINE float scale(int64_t column) const { return float_at(scales + column * scale_stride); }
    // Some 64 bits of a code, from byte `at` on, or the bytes that are left of it.
    BITFM_INLINE uint64_t word(int64_t column, int at, int n_bytes) const {
        const uint8_t* code = vector(column) + at;
        uint64_t bits = 0;
        if (n_bytes == 8)
            __builtin_memcpy(&bits, code, 8);
        else
            for (int b = 0; b < n_bytes; ++b) bits |= uint64_t(code[b]) << 8 * b;
        return bits;
    }
    // Ask for what a feature will need; of its vector, lines from the first on.
    template <int kLines, bool kScales = true>
    BITFM_INLINE void ask_for(int64_t column) const {
        for (int line = 0; line < kLines; ++line) __builtin_prefetch(vector(column) + 64 * line);
        if (records) return;
        __builtin_prefetch(weights + column * weight_stride);
        if (kScales) __builtin_prefetch(scales + column * scale_stride);
    }
};

}  // namespace
}  // namespace bitfm::BITFM_ISA
