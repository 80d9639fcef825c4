// Symmetric matrices, row by row: linear equations and eigenvectors. No LAPACK: its results depend on the processor.
#pragma once

#include <cstdint>
#include <span>

#include "base/matrix.hpp"

namespace bitfm {

// Solves a x = b in place for every column of b; of a, which is overwritten, the upper triangle counts. False if a is
// not positive definite in these numbers.
bool solve_positive(Matrix<double> a, Matrix<double> b);

// Eigenvalues, from the smallest to the largest, and the eigenvectors as the rows of a, which is overwritten. The
// largest number of each vector is positive.
void eigenvectors(Matrix<double> a, std::span<double> values);

// Makes the rows orthonormal in their order, by Gram and Schmidt; one that depends on those before it becomes 0.
void make_orthonormal(Matrix<double> rows);

}  // namespace bitfm
