// How many bits a code may have.
#pragma once

#include <string>

#include "base/error.hpp"
#include "kernels/code_kernels.hpp"

namespace bitfm {

inline void require_bits(int64_t bits) {
    require(bits >= 8 && bits <= kMostBits && bits % 8 == 0,
            "bits must be a multiple of 8 from 8 to " + std::to_string(kMostBits) + ", got " + std::to_string(bits));
}

// The bits of codes that have so many bytes per row.
inline int bits_of_bytes(size_t bytes) {
    require(bytes >= 1 && bytes <= kMostBits / 8,
            "codes must have 1 to " + std::to_string(kMostBits / 8) + " bytes per row, got " + std::to_string(bytes));
    return static_cast<int>(bytes) * 8;
}

}  // namespace bitfm
