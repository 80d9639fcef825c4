// What the linear algebra compiles once per instruction set.
#pragma once

#include <cstdint>

namespace bitfm {

template <class Real>
struct LinalgKernels {
    // A tile of a product: out[i][j] = Σ a[k][i] b[k][j], each sum in the order of k, so that the size of a tile, which
    // fits the registers of the instruction set, does not show in the result.
    int tile_rows, tile_columns;
    void (*multiply_tile)(const Real* a, const Real* b, int64_t depth, Real* out);

    // Cholesky's factor in place: the upper triangle of a, row by row, becomes U with U'U = a. False if a is not
    // positive definite in these numbers.
    bool (*factor)(Real* a, int64_t n);
};

}  // namespace bitfm
