// A catalogue of items that are vectors: how it is laid out for a scan.
//
// The scan sees the leading dimensions of the vectors, projected so that these hold most, as integers; what that leaves
// out is bounded, and the few items that may win are scored by the vectors as they are.
#pragma once

#include "base/matrix.hpp"
#include "kernels/scan_kernels.hpp"
#include "retrieval/arrays.hpp"

namespace bitfm {

struct VectorSizes {
    int64_t chunks = 0;
    int dimensions = 0;         // of a vector
    int leading = 0;            // of these, how many a scan sees
    int64_t nibble_chunks = 0;  // none, or all: what a single query scans first

    int64_t slots() const { return chunks * kChunkItems; }
    void check() const;
};

// What the arrays of a chunk hold is said where VectorChunks is.
#define BITFM_VECTOR_ARRAYS(X)                                            \
    X(values, int8_t, s.slots() * s.leading) /* [chunk][pair][item][2] */ \
    X(start, int16_t, s.slots())                                          \
    X(live, uint64_t, s.chunks)                                           \
    X(position, int32_t, s.slots()) /* of the item in a slot; -1: none */ \
    X(bias, float, s.slots())                                             \
    X(vectors, float, s.slots(), s.dimensions)                            \
    X(chunk_bias, float, s.chunks)                                        \
    X(inverse_step, float, s.chunks)                                      \
    X(length, float, s.chunks)                                            \
    X(error, float, s.chunks)                                             \
    X(rest, float, s.chunks)                                              \
    X(chunk_first, int32_t, s.chunks) /* lowest position */               \
    X(nibbles, uint8_t, s.nibble_chunks * kChunkItems * s.leading / 2)    \
    X(nibble_inverse_step, float, s.nibble_chunks)                        \
    X(nibble_error, float, s.nibble_chunks)                               \
    X(basis, double, s.dimensions, s.leading) /* an orthonormal basis of what leads */

template <template <class> class Array>
struct VectorArrays {
    BITFM_VECTOR_ARRAYS(BITFM_MEMBER)
};

struct VectorCatalogue : VectorSizes, VectorArrays<Borrowed> {
    using Sizes = VectorSizes;

    // visit(name, array, shape) for each of the arrays.
    template <class Arrays, class Visit>
    static void each(Arrays& arrays, const VectorSizes& s, Visit&& visit){BITFM_VECTOR_ARRAYS(BITFM_VISIT)}

    int64_t chunk_bytes() const {
        return leading * kChunkItems;
    }  // that a scan reads
    int64_t width() const { return dimensions; }
};

VectorArrays<Owned> arrange(Matrix<const float> vectors, std::span<const float> biases,
                            std::span<const int32_t> positions, Matrix<const double> basis, double weight,
                            bool with_nibbles);

// The directions that lead: where these are the dimensions themselves, nothing is turned.
class Basis {
  public:
    Basis(std::span<const double> directions, int dimensions, int leading);

    // out = the leading dimensions of a vector; returns a bound of the length of the others.
    double project(std::span<const float> vector, std::span<double> out) const;

  private:
    std::span<const double> directions_;
    bool plain_;
};

}  // namespace bitfm
