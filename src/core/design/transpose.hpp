// A sparse table by its columns: a counting sort, in time proportional to its entries, rows and columns.
#pragma once

#include <cstdint>
#include <span>

namespace bitfm {

// Rows in compressed form: the entries of row r are at indptr[r] .. indptr[r + 1].
template <class Real>
struct SparseRows {
    std::span<const int64_t> indptr;
    std::span<const int32_t> indices;
    std::span<const Real> values;
};

// The entries of column j are at start[j] .. start[j + 1], in the order of their rows, equal ones as they came.
template <class Real>
struct SparseColumns {
    std::span<int64_t> start;  // columns + 1
    std::span<int32_t> row;    // one per entry
    std::span<Real> value;
};

// Fills `out`. The table must have been checked (see check_table), and `out` have its sizes.
template <class Real>
void transpose(const SparseRows<Real>& table, const SparseColumns<Real>& out);

}  // namespace bitfm
