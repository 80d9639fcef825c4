#include "design/design.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "base/sizes.hpp"

namespace bitfm {

namespace {

// One pass without a branch; a negative number is a large one without its sign.
void require_below(std::span<const int32_t> numbers, int64_t end, const std::string& what) {
    uint32_t most = 0;
    for (int32_t number : numbers) most = std::max(most, static_cast<uint32_t>(number));
    if (numbers.empty() || most < static_cast<uint64_t>(end)) return;
    for (int32_t number : numbers)
        if (number < 0 || number >= end)
            throw BadInput(what + std::to_string(number) + " is outside 0.." + std::to_string(end - 1));
}

void require_columns(const std::string& name, int64_t n) {
    require(n >= 0, name + ": the number of columns must be from 0 up, got " + std::to_string(n));
    require_at_most(static_cast<size_t>(n), kMostRows, name, "columns");
}

}  // namespace

void check_table(const std::string& name, int64_t n_rows, int64_t n_columns, std::span<const int64_t> indptr,
                 std::span<const int32_t> indices, size_t n_values) {
    require_columns(name, n_columns);
    require(!indptr.empty() && static_cast<int64_t>(indptr.size()) == n_rows + 1,
            name + ": indptr has " + std::to_string(indptr.size()) +
                " entries, expected rows + 1 = " + std::to_string(n_rows + 1));
    require_at_most(indices.size(), kMostRows, name, "non-zeros");
    require(indices.size() == n_values,
            name + ": " + std::to_string(indices.size()) + " indices but " + std::to_string(n_values) + " values");
    require(indptr.front() == 0 && indptr.back() == static_cast<int64_t>(indices.size()) &&
                std::is_sorted(indptr.begin(), indptr.end()),
            name + ": indptr must rise from 0 to the number of non-zeros");
    require_below(indices, n_columns, name + ": column index ");
}

template <class Real>
void Design<Real>::add_block(int64_t n_rows, std::span<const int32_t> rows) {
    std::string name = "block " + std::to_string(blocks.size());
    require(n_rows >= 0, name + ": the number of rows must be from 0 up, got " + std::to_string(n_rows));
    require_at_most(static_cast<size_t>(n_rows), kMostRows, name, "rows");
    require_at_most(rows.size(), kMostRows, name, "interactions");
    require(
        blocks.empty() || static_cast<int64_t>(rows.size()) == n,
        name + ": " + std::to_string(rows.size()) + " interactions, but the blocks before have " + std::to_string(n));
    require_below(rows, n_rows, name + ": row ");
    n = static_cast<int64_t>(rows.size());
    blocks.push_back({n_rows, rows, static_cast<int>(fields.size()), 0});
}

template <class Real>
void Design<Real>::add_field(Field<Real> field) {
    std::string name = "field " + std::to_string(fields.size());
    require(!blocks.empty(), name + ": add a block first");
    Block& block = blocks.back();
    require_columns(name, field.n_columns);
    if (field.identity) {
        require(field.n_columns == block.n_rows, name + ": an identity needs as many columns as rows");
    } else if (field.dense) {
        const size_t n_values = numbers_of(static_cast<size_t>(block.n_rows), static_cast<size_t>(field.n_columns));
        require(field.levels.size() == n_values, name + ": " + std::to_string(field.levels.size()) +
                                                     " values, expected rows × columns = " + std::to_string(n_values));
        require(std::isfinite(field.scale * 128), name + ": the scale must be finite, and so its products");
    } else {
        check_table(name, block.n_rows, field.n_columns, field.indptr, field.indices, field.values.size());
        const bool finite =
            std::all_of(field.values.begin(), field.values.end(), [](Real x) { return std::isfinite(x); });
        require(finite, name + ": values must be finite, found NaN or infinity");
        field.equal =
            std::all_of(field.values.begin(), field.values.end(), [&](Real x) { return x == field.values.front(); });
    }
    field.block = static_cast<int>(blocks.size()) - 1;
    field.first = n_features;
    n_features += field.n_columns;
    block.n_fields += 1;
    fields.push_back(field);
}

template struct Design<float>;
template struct Design<double>;

}  // namespace bitfm
