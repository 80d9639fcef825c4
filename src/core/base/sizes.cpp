#include "base/sizes.hpp"

#include "base/error.hpp"

namespace bitfm {

namespace {

// 2147483646 as 2,147,483,646.
std::string grouped(size_t number) {
    std::string digits = std::to_string(number);
    for (size_t left = digits.size(); left > 3; left -= 3) digits.insert(left - 3, ",");
    return digits;
}

}  // namespace

void require_at_most(size_t size, int64_t most, const std::string& what, const char* of, const char* advice) {
    if (size <= static_cast<size_t>(most)) return;
    throw BadInput(what + " has " + grouped(size) + " " + of + "; at most " + grouped(static_cast<size_t>(most)) +
                   " are supported: " + advice);
}

size_t numbers_of(size_t rows, size_t columns, const char* what) {
    if (columns == 0 || rows <= kMostNumbers / columns) return rows * columns;
    throw BadInput(std::string(what) + " would have " + grouped(rows) + " × " + grouped(columns) +
                   " numbers, which no memory holds: ask for fewer at a time");
}

}  // namespace bitfm
