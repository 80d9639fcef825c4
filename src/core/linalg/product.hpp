// Products of matrices with the order of every sum fixed: the same numbers at any number of threads and on any
// instruction set, which no BLAS promises.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"

namespace bitfm {

// A matrix of somebody else's, transposed or not.
template <class Real>
struct Strided {
    const Real* data;
    int64_t rows, columns;
    int64_t row_stride, column_stride;

    const Real* at(int64_t row, int64_t column) const { return data + row * row_stride + column * column_stride; }
};

// Terms of a product whose sum is made by itself.
constexpr int64_t kProductSpan = 64 * 256;

// out = a b, row by row. With `more`, out += a b: the terms of several calls give the same numbers as those of one if
// each call but the last has a multiple of kProductSpan.
template <class Real>
void multiply(Team& team, const Strided<Real>& a, const Strided<Real>& b, Real* out, bool more = false);

}  // namespace bitfm
