// A catalogue of items that are vectors: how it is laid out for a scan.
//
// The scan sees the leading dimensions of the vectors, turned so that these hold most, as whole numbers; what that
// leaves out is bounded, and the few items that may win are scored by the vectors as they are.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"

namespace bitfm {

template <class Byte, class Whole8, class Whole16, class Word, class Whole, class Real>
struct VectorCatalogueArrays {
    int dimensions;                // of a vector
    std::span<const double> turn;  // dimensions × leading: an orthonormal basis of what leads
    std::span<Whole8> values;      // [chunk][pair][item][2]
    std::span<Whole16> start;      // [chunk][item]
    std::span<Word> alive;
    std::span<Whole> position;  // of the item in a place; -1: none
    std::span<Real> bias, vectors;
    std::span<Real> chunk_bias, inverse_step, length, error, rest;  // see VectorChunks
    std::span<Whole> chunk_first;                                   // lowest position
    std::span<Byte> nibbles;  // empty, or what a single query scans first; see VectorChunks
    std::span<Real> nibble_inverse_step, nibble_error;

    int64_t n_chunks() const { return static_cast<int64_t>(alive.size()); }
    int64_t chunk_bytes() const { return leading() * kChunkItems; }  // that a scan reads
    int64_t width() const { return dimensions; }
    int leading() const { return static_cast<int>(turn.size()) / dimensions; }
    void check() const;  // that the sizes fit each other
};
using VectorCatalogue =
    VectorCatalogueArrays<const uint8_t, const int8_t, const int16_t, const uint64_t, const int32_t, const float>;
using NewVectorCatalogue = VectorCatalogueArrays<uint8_t, int8_t, int16_t, uint64_t, int32_t, float>;

void arrange(std::span<const float> vectors, std::span<const float> biases, std::span<const int32_t> positions,
             double weight, const NewVectorCatalogue& out);

// out = the leading dimensions of a vector; returns a bound of the length of the others.
double turn_vector(std::span<const double> turn, std::span<const float> vector, std::span<double> out);

}  // namespace bitfm
