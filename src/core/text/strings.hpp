// Sorted strings that lie one after another in memory, as in a model file.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "base/whole_numbers.hpp"

namespace bitfm {

// String i is bytes[offsets[i], offsets[i + 1]). A file may be damaged, so every access is checked.
struct PackedStrings {
    std::span<const uint8_t> bytes;
    WholeNumbers offsets;

    int64_t size() const { return offsets.empty() ? 0 : static_cast<int64_t>(offsets.size()) - 1; }

    std::string_view operator[](int64_t i) const {
        const int64_t begin = offsets[static_cast<size_t>(i)], end = offsets[static_cast<size_t>(i) + 1];
        require(0 <= begin && begin <= end && end <= static_cast<int64_t>(bytes.size()),
                "the offsets of the strings must rise from 0 to the number of their bytes");
        return {reinterpret_cast<const char*>(bytes.data()) + begin, static_cast<size_t>(end - begin)};
    }

    // The index of a string, by binary search, or -1.
    int64_t find(std::string_view text) const {
        int64_t low = 0, high = size();
        while (low < high) {
            const int64_t middle = low + (high - low) / 2;
            if ((*this)[middle] < text)
                low = middle + 1;
            else
                high = middle;
        }
        return low < size() && (*this)[low] == text ? low : -1;
    }
};

}  // namespace bitfm
