// A catalogue of items that are vectors: how it is laid out for a scan.
//
// The scan sees the leading dimensions of the vectors, projected so that these hold most, as integers; what that leaves
// out is bounded, and the few items that may win are scored by the vectors as they are. These are kept, or worked out
// from the features of the items: then only those are kept that have many features.
#pragma once

#include <algorithm>
#include <bit>

#include "base/matrix.hpp"
#include "kernels/scan_kernels.hpp"
#include "retrieval/arrays.hpp"
#include "retrieval/item_sums.hpp"

namespace bitfm {

struct VectorSizes {
    int64_t chunks = 0;
    int dimensions = 0;         // of a vector
    int leading = 0;            // of these, how many a scan sees
    int64_t nibble_chunks = 0;  // none, or all: what a single query scans first
    int64_t sum_chunks = 0;     // none, or all: where it says which vectors are kept, others being sums
    int64_t some_vectors = 0;   // that are kept if not all are

    int64_t slots() const { return chunks * kChunkItems; }
    int64_t n_vectors() const { return sum_chunks ? some_vectors : slots(); }
    void check() const;
};

// What the arrays of a chunk hold is said where VectorChunks is.
#define BITFM_VECTOR_ARRAYS(X)                                            \
    X(values, int8_t, s.slots() * s.leading) /* [chunk][pair][item][2] */ \
    X(start, int16_t, s.slots())                                          \
    X(live, uint64_t, s.chunks)                                           \
    X(position, int32_t, s.slots()) /* of the item in a slot; -1: none */ \
    X(bias, float, s.slots())                                             \
    X(vectors, float, s.n_vectors(), s.dimensions)                        \
    X(kept, uint64_t, s.sum_chunks)       /* which slots have a vector */ \
    X(kept_before, int32_t, s.sum_chunks) /* how many in other chunks */  \
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
    // Which of the vectors is a slot's; -1 if it is not kept.
    int64_t vector_of(int64_t slot) const {
        if (kept.empty()) return slot;
        const auto chunk = static_cast<size_t>(slot / kChunkItems);
        const uint64_t bit = uint64_t(1) << slot % kChunkItems;
        if (!(kept[chunk] & bit)) return -1;
        const int64_t found = kept_before[chunk] + std::popcount(kept[chunk] & (bit - 1));
        return found >= 0 && found < some_vectors ? found : -1;
    }

    const ItemSums* sums = nullptr;  // of the vectors that are not kept
};

VectorArrays<Owned> arrange(Matrix<const float> vectors, std::span<const float> biases,
                            std::span<const int32_t> positions, Matrix<const double> basis, double weight,
                            bool with_nibbles);

// What a scan starts from, which follows from the values: -kOffset times the sum of an item's.
std::vector<int16_t> starts_of(std::span<const int8_t> values, int64_t chunks);

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
