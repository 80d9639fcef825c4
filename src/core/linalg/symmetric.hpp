// Symmetric matrices, row by row: linear equations and eigenvectors. No LAPACK: its results depend on the processor.
#pragma once

#include <cstdint>
#include <span>

namespace bitfm {

// Solves a x = b in place for every column of b; of a, which is overwritten, the upper triangle counts. False if a is
// not positive definite in these numbers.
bool solve_positive(std::span<double> a, std::span<double> b, int64_t n, int64_t n_columns);

// Eigenvalues, from the smallest to the largest, and the eigenvectors as the rows of a, which is overwritten. The
// largest number of each vector is positive.
void eigenvectors(std::span<double> a, std::span<double> values, int64_t n);

// Makes the rows orthonormal in their order, by Gram and Schmidt; one that depends on those before it becomes 0.
void make_orthonormal(std::span<double> rows, int64_t n_rows, int64_t n_columns);

}  // namespace bitfm
