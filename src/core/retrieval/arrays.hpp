// What lists of arrays are made of. A catalogue lists its arrays once, X(name, type, shape...), and from that list come
// the members of its structs, the names and types that Python and files know them by, and the shapes that are checked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/large_pages.hpp"

namespace bitfm {

template <class T>
using Borrowed = std::span<const T>;  // may lie in a file: nothing in it is believed but its shape
template <class T>
using Owned = LargeVector<T>;

using Shape = std::vector<int64_t>;

inline size_t size_of(const Shape& shape) {
    size_t size = 1;
    for (int64_t extent : shape) size *= static_cast<size_t>(extent);
    return size;
}

#define BITFM_MEMBER(name, type, ...) Array<type> name;
#define BITFM_VISIT(name, type, ...) visit(#name, arrays.name, Shape{__VA_ARGS__});

}  // namespace bitfm
