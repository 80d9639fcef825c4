// A matrix of somebody else's, row by row.
#pragma once

#include <cstdint>
#include <span>

namespace bitfm {

template <class T>
struct Matrix {
    T* data = nullptr;
    int64_t rows = 0, columns = 0;

    std::span<T> all() const { return {data, static_cast<size_t>(rows * columns)}; }
    T* row(int64_t i) const { return data + i * columns; }
    bool has_shape(int64_t n_rows, int64_t n_columns) const { return rows == n_rows && columns == n_columns; }
};

}  // namespace bitfm
