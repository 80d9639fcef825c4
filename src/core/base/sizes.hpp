// Sizes that come from outside, refused before anything is computed from them. What passes here can be numbered by an
// int32, or multiplied by a small number, without wrapping around; no inner loop has to think of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace bitfm {

inline constexpr int64_t kMostRows = INT32_MAX - 1;             // of a table; and columns, non-zeros, interactions
inline constexpr size_t kMostNumbers = size_t(1) << 56;         // of an array: more than memory can be addressed
inline constexpr int64_t kMostItems = (int64_t(1) << 31) - 64;  // of a catalogue: whole chunks whose slots are int32

// Refuses a size, in a sentence: "block 0 has 2,200,000,000 rows; at most 2,147,483,646 are supported: split it".
void require_at_most(size_t size, int64_t most, const std::string& what, const char* of,
                     const char* advice = "split it");

// rows × columns, or a refusal if an array cannot have so many numbers; `what` would have them.
size_t numbers_of(size_t rows, size_t columns, const char* what = "the result");

}  // namespace bitfm
