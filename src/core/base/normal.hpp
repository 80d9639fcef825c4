// Standard normal numbers by counter: the number at a place depends on the seed and the place alone, so threads
// may fill an array in any order.
#pragma once

#include <cstdint>
#include <span>

namespace bitfm {

// Fill `out` with the numbers at places first, first + 1, … of the sequence that `seed` names; first is even.
void fill_normal(uint64_t seed, int64_t first, std::span<float> out);

}  // namespace bitfm
