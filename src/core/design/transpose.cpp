#include "design/transpose.hpp"

#include <algorithm>
#include <numeric>

namespace bitfm {

template <class Real>
void transpose(const SparseRows<Real>& table, const SparseColumns<Real>& out) {
    // start[j + 1] is first the number of column j's entries, then where the next of them goes, and so at last where
    // they end: no second array is needed.
    std::fill(out.start.begin(), out.start.end(), 0);
    const std::span<int64_t> next = out.start.subspan(1);
    for (int32_t column : table.indices) ++next[static_cast<size_t>(column)];
    std::exclusive_scan(next.begin(), next.end(), next.begin(), int64_t{0});
    for (size_t row = 0; row + 1 < table.indptr.size(); ++row) {
        const auto to = static_cast<size_t>(table.indptr[row + 1]);
        for (auto p = static_cast<size_t>(table.indptr[row]); p < to; ++p) {
            const auto place = static_cast<size_t>(next[static_cast<size_t>(table.indices[p])]++);
            out.row[place] = static_cast<int32_t>(row);
            out.value[place] = table.values[p];
        }
    }
}

template void transpose(const SparseRows<float>&, const SparseColumns<float>&);
template void transpose(const SparseRows<double>&, const SparseColumns<double>&);

}  // namespace bitfm
