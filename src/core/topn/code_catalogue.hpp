// A catalogue of items that are codes: how it is laid out for a scan.
//
// The arrays are the caller's, and may lie in a file: nothing in them is believed but their sizes, which are checked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/kernels.hpp"

namespace bitfm {

template <class Byte, class Word, class Real, class Whole>
struct CodeCatalogueArrays {
    int bytes;  // of a code
    std::span<Byte> codes;
    std::span<Word> alive;
    std::span<Whole> position;  // of the item in a place; -1: none
    std::span<Real> bias, gain;
    // Of a chunk: the largest bias, the largest and the smallest gain, one over these (rounded so as to promise too
    // much rather than too little), and the lowest position.
    std::span<Real> chunk_bias, chunk_most, chunk_least, inverse_most, inverse_least;
    std::span<Whole> chunk_first;

    int64_t n_chunks() const { return static_cast<int64_t>(alive.size()); }
    int64_t chunk_bytes() const { return bytes * kChunkItems; }  // that a scan reads
    int64_t width() const { return bytes * 8; }
    void check() const;  // that the sizes fit each other
};
using CodeCatalogue = CodeCatalogueArrays<const uint8_t, const uint64_t, const float, const int32_t>;
using NewCodeCatalogue = CodeCatalogueArrays<uint8_t, uint64_t, float, int32_t>;

// Fill a catalogue, whose arrays have room for all items. `codes` has a row an item; `weight` is what a unit of gain
// counts against a unit of bias when items are put together.
void arrange(std::span<const uint8_t> codes, std::span<const float> gains, std::span<const float> biases,
             std::span<const int32_t> positions, double weight, const NewCodeCatalogue& out);

}  // namespace bitfm
