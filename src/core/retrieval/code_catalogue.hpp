// A catalogue of items that are codes: how it is laid out for a scan.
#pragma once

#include "base/matrix.hpp"
#include "kernels/scan_kernels.hpp"
#include "retrieval/arrays.hpp"

namespace bitfm {

struct CodeSizes {
    int64_t chunks = 0;
    int bytes = 0;  // of a code

    int64_t slots() const { return chunks * kChunkItems; }
    void check() const;
};

// A slot is where an item of a chunk is. Of a chunk there are the largest bias, the largest and the smallest gain, one
// over these (rounded so as to promise too much rather than too little), and the lowest position.
#define BITFM_CODE_ARRAYS(X)                                              \
    X(codes, uint8_t, s.chunks, s.bytes, kChunkItems)                     \
    X(live, uint64_t, s.chunks)                                           \
    X(position, int32_t, s.slots()) /* of the item in a slot; -1: none */ \
    X(bias, float, s.slots())                                             \
    X(gain, float, s.slots())                                             \
    X(chunk_bias, float, s.chunks)                                        \
    X(chunk_most, float, s.chunks)                                        \
    X(chunk_least, float, s.chunks)                                       \
    X(inverse_most, float, s.chunks)                                      \
    X(inverse_least, float, s.chunks)                                     \
    X(chunk_first, int32_t, s.chunks)

template <template <class> class Array>
struct CodeArrays {
    BITFM_CODE_ARRAYS(BITFM_MEMBER)
};

struct CodeCatalogue : CodeSizes, CodeArrays<Borrowed> {
    using Sizes = CodeSizes;

    // visit(name, array, shape) for each of the arrays.
    template <class Arrays, class Visit>
    static void each(Arrays& arrays, const CodeSizes& s, Visit&& visit){BITFM_CODE_ARRAYS(BITFM_VISIT)}

    int64_t chunk_bytes() const {
        return bytes * kChunkItems;
    }  // that a scan reads
    int64_t width() const { return bytes * 8; }
};

// One over the largest and the smallest gain of a chunk, rounded so as to promise too much rather than too little.
float inverse_of_most(float gain);
float inverse_of_least(float gain);

// Lay items out. `codes` has a row per item; `weight` is what a unit of gain counts against a unit of bias when items
// are put together.
CodeArrays<Owned> arrange(Matrix<const uint8_t> codes, std::span<const float> gains, std::span<const float> biases,
                          std::span<const int32_t> positions, double weight);

}  // namespace bitfm
