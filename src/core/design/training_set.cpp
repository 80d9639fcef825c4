#include "design/training_set.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "design/transpose.hpp"

namespace bitfm {

namespace {

// start[r] .. start[r + 1]: the places of row r when interactions are sorted by row.
std::vector<int64_t> count_rows(std::span<const int32_t> rows, int64_t n_rows) {
    std::vector<int64_t> start(static_cast<size_t>(n_rows) + 1);
    for (int32_t row : rows) ++start[static_cast<size_t>(row) + 1];
    std::partial_sum(start.begin(), start.end(), start.begin());
    return start;
}

std::vector<int32_t> sort_by_row(std::span<const int32_t> rows, const std::vector<int64_t>& start) {
    std::vector<int64_t> next(start.begin(), start.end() - 1);
    std::vector<int32_t> order(rows.size());
    for (size_t s = 0; s < rows.size(); ++s) order[next[rows[s]]++] = static_cast<int32_t>(s);
    return order;
}

bool each_row_once(const Block& block) {
    if (block.n_rows != static_cast<int64_t>(block.rows.size())) return false;
    std::vector<char> seen(block.rows.size());
    for (int32_t row : block.rows) {
        if (seen[row]) return false;
        seen[row] = 1;
    }
    return true;
}

bool own_rows(const std::vector<int32_t>& row_of) {
    for (size_t s = 0; s < row_of.size(); ++s)
        if (row_of[s] != static_cast<int32_t>(s)) return false;
    return true;
}

template <class Real>
typename TrainingSet<Real>::FieldIndex dense_by_column(const Field<Real>& field) {
    typename TrainingSet<Real>::FieldIndex out;
    out.dense = true;
    out.one_hot = field.n_columns <= 1;
    const int64_t n_rows = field.n_columns ? static_cast<int64_t>(field.levels.size()) / field.n_columns : 0;
    for (int64_t row = 0; row < n_rows; ++row)
        if (field.visit_dense(row, [](int64_t, Real) { return true; })) out.row.push_back(static_cast<int32_t>(row));
    const size_t n = out.row.size();
    out.value.resize(n * static_cast<size_t>(field.n_columns));
    for (size_t i = 0; i < n; ++i)
        field.visit_dense(out.row[i], [&](int64_t column, Real x) {
            out.value[static_cast<size_t>(column) * n + i] = x;
            return false;
        });
    return out;
}

template <class Real>
typename TrainingSet<Real>::FieldIndex by_column(const Field<Real>& field) {
    if (field.dense) return dense_by_column(field);
    typename TrainingSet<Real>::FieldIndex out;
    out.start.resize(static_cast<size_t>(field.n_columns) + 1);
    out.row.resize(field.indices.size());
    out.value.resize(field.indices.size());
    transpose<Real>({field.indptr, field.indices, field.values}, {out.start, out.row, out.value});
    out.one_hot = true;
    for (size_t row = 1; row < field.indptr.size(); ++row)
        if (field.indptr[row] - field.indptr[row - 1] > 1) out.one_hot = false;
    return out;
}

}  // namespace

template <class Real>
TrainingSet<Real>::TrainingSet(const Design<Real>& design, std::span<const Real> targets, std::span<const Real> weights)
    : design(design) {
    const auto n = static_cast<size_t>(design.n);
    require(!design.blocks.empty(), "a design needs at least one block");
    require(targets.size() == n,
            std::to_string(targets.size()) + " targets for " + std::to_string(n) + " interactions");
    require(weights.empty() || weights.size() == n,
            std::to_string(weights.size()) + " weights for " + std::to_string(n) + " interactions");
    for (Real y : targets) require(std::isfinite(y), "targets must be finite");
    for (Real w : weights) require(std::isfinite(w) && w >= 0, "weights must be finite and not negative");

    // Interactions are kept in the order of one block's rows: a block that has a row for each of them, or the first.
    size_t leader = 0;
    for (size_t b = design.blocks.size(); b-- > 0;)
        if (!design.bare(b) && each_row_once(design.blocks[b])) leader = b;
    const auto& leading = design.blocks[leader].rows;
    if (!std::is_sorted(leading.begin(), leading.end()))
        source = sort_by_row(leading, count_rows(leading, design.blocks[leader].n_rows));
    for (size_t b = 0; b < design.blocks.size(); ++b) {
        const Block& block = design.blocks[b];
        BlockIndex index;
        index.start = count_rows(block.rows, block.n_rows);
        index.row_of.resize(n);
        for (size_t s = 0; s < n; ++s)
            index.row_of[s] = block.rows[static_cast<size_t>(source_of(static_cast<int64_t>(s)))];
        if (!std::is_sorted(index.row_of.begin(), index.row_of.end()))
            index.order = sort_by_row(index.row_of, index.start);
        index.bare = design.bare(b);
        index.direct = !index.bare && block.n_rows == design.n && own_rows(index.row_of);
        blocks.push_back(std::move(index));
    }
    for (const Field<Real>& field : design.fields)
        fields.push_back(field.identity ? FieldIndex{.one_hot = true} : by_column(field));

    auto place = [&](std::span<const Real> from, std::vector<Real>& to) {
        to.resize(from.size());
        for (size_t s = 0; s < from.size(); ++s) to[s] = from[static_cast<size_t>(source_of(static_cast<int64_t>(s)))];
    };
    place(targets, target);
    place(weights, weight);
}

template <class Real>
Column<Real> TrainingSet<Real>::column(size_t field, int64_t column) const {
    const FieldIndex& index = fields[field];
    const auto n = static_cast<int64_t>(index.row.size());
    if (index.dense) return {index.row.data(), index.value.data() + column * n, n};
    const int64_t from = index.start[column];
    return {index.row.data() + from, index.value.data() + from, index.start[static_cast<size_t>(column) + 1] - from};
}

template class TrainingSet<float>;
template class TrainingSet<double>;

}  // namespace bitfm
