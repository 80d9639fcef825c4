// Small symmetric matrices in single precision, for solvers that have one per row.
//
// Sums go over terms by 256, in order, so results depend neither on the tiles of an instruction set nor on threads.
#pragma once

#include <vector>

#include "base/isa.hpp"
#include "linalg/product.hpp"

namespace bitfm {

// Buffers of one thread.
class SymmetricWork {
  public:
    SymmetricWork() : kernels_(*isa().kernels) {}

    // The upper triangle of `out`, which has rows of `stride` numbers, += sign Σ_k left_k right_k', k being the rows of
    // both. What is below the diagonal may be overwritten.
    void add_products(const Strided<float>& left, const Strided<float>& right, float sign, float* out, int64_t stride);

    // Cholesky's factor in place: the upper triangle of a becomes U with U'U = a. False if a is not positive definite.
    bool factor(float* a, int64_t n);

    // Solves U'U x = b in place.
    void solve(const float* u, int64_t n, float* b) const;

  private:
    const Kernels& kernels_;
    std::vector<float> left_, right_, tile_, block_;
};

}  // namespace bitfm
