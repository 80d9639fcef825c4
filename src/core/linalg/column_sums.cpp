#include "linalg/column_sums.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace bitfm {

template <class Real>
void column_sums(Matrix<const Real> values, std::span<const int64_t> rows, std::span<const double> centre,
                 std::span<double> sums, std::span<double> squares) {
    const auto width = static_cast<size_t>(values.columns);
    require(centre.size() == width && sums.size() == width && squares.size() == width,
            "one centre and room for one sum per column are needed");
    require(std::all_of(rows.begin(), rows.end(), [&](int64_t row) { return row >= 0 && row < values.rows; }),
            "a row is out of range");
    std::fill(sums.begin(), sums.end(), 0);
    std::fill(squares.begin(), squares.end(), 0);
    for (int64_t row : rows) {
        const Real* line = values.row(row);
        for (size_t t = 0; t < width; ++t) {
            const auto v = static_cast<double>(line[t]), off = v - centre[t];
            sums[t] += v;
            squares[t] += off * off;
        }
    }
}

template void column_sums(Matrix<const float>, std::span<const int64_t>, std::span<const double>, std::span<double>,
                          std::span<double>);
template void column_sums(Matrix<const double>, std::span<const int64_t>, std::span<const double>, std::span<double>,
                          std::span<double>);

}  // namespace bitfm
