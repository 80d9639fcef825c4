// Which items share a chunk, and in which order the chunks come.
//
// Items with like biases and like reach (what their vectors add to a score at best) share a chunk of 64, so that one
// bound serves them all, and the chunks that promise most come first.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace bitfm {

struct Chunk {
    std::vector<int32_t> items;  // by rising position
    float bias;                  // the largest
    int32_t first;               // the lowest position
};

// `weight` is what a unit of reach counts against a unit of bias.
std::vector<Chunk> make_chunks(std::span<const float> biases, std::span<const float> reaches,
                               std::span<const int32_t> positions, double weight);

// The word of a chunk that has so many items.
inline uint64_t first_bits(size_t n) {
    return n >= 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1;
}

}  // namespace bitfm
