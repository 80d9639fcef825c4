// The design matrix as blocks: borrowed views of the caller's arrays, checked once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace bitfm {

// One field of a block: its rows × columns in compressed sparse rows, or all of them in 8 bits each. An identity keeps
// no arrays.
template <class Real>
struct Field {
    int block = 0;
    int64_t n_columns = 0;
    int64_t first = 0;  // its first column in the whole matrix
    bool identity = false;
    std::span<const int64_t> indptr;
    std::span<const int32_t> indices;
    std::span<const Real> values;
    bool equal = false;  // whether all values are the same: found out once, when it is added
    bool dense = false;  // then value = scale · level, in single precision, and 0 is no feature
    std::span<const int8_t> levels;
    float scale = 0;

    // visit(column, x) for the non-zeros of a row of a dense field, until one returns true; returns whether one did.
    template <class Visit>
    bool visit_dense(int64_t row, Visit&& visit) const {
        const int8_t* line = levels.data() + row * n_columns;
        for (int64_t column = 0; column < n_columns; ++column)
            if (line[column] && visit(column, static_cast<Real>(scale * static_cast<float>(line[column])))) return true;
        return false;
    }
};

struct Block {
    int64_t n_rows = 0;
    std::span<const int32_t> rows;  // the row each interaction uses
    int first_field = 0, n_fields = 0;
};

template <class Real>
struct Design {
    int64_t n = 0;  // interactions
    int64_t n_features = 0;
    std::vector<Block> blocks;
    std::vector<Field<Real>> fields;  // block by block, in column order

    void add_block(int64_t n_rows, std::span<const int32_t> rows);
    void add_field(Field<Real> field);  // to the last block
    // How many non-zeros a row has, at most.
    size_t n_in_row(size_t block, int64_t row) const {
        size_t n = 0;
        const Block& of = blocks[block];
        for (int f = of.first_field; f < of.first_field + of.n_fields; ++f) {
            const Field<Real>& field = fields[static_cast<size_t>(f)];
            const auto r = static_cast<size_t>(row);
            n += field.identity ? 1
                 : field.dense  ? static_cast<size_t>(field.n_columns)
                                : static_cast<size_t>(field.indptr[r + 1] - field.indptr[r]);
        }
        return n;
    }
    bool bare(size_t block) const {
        return blocks[block].n_fields == 1 && fields[static_cast<size_t>(blocks[block].first_field)].identity;
    }
};

// Refuses arrays that are no table of so many rows and columns; messages begin with its name.
void check_table(const std::string& name, int64_t n_rows, int64_t n_columns, std::span<const int64_t> indptr,
                 std::span<const int32_t> indices, size_t n_values);

// visit(feature, x) for the non-zeros of a row, until one returns true.
template <class Real, class Visit>
void visit_until(const Design<Real>& design, size_t block, int64_t row, Visit&& visit) {
    const Block& of = design.blocks[block];
    for (int f = of.first_field; f < of.first_field + of.n_fields; ++f) {
        const Field<Real>& field = design.fields[static_cast<size_t>(f)];
        if (field.identity) {
            if (visit(field.first + row, Real(1))) return;
            continue;
        }
        if (field.dense) {
            if (field.visit_dense(row, [&](int64_t column, Real x) { return visit(field.first + column, x); })) return;
            continue;
        }
        const auto from = static_cast<size_t>(field.indptr[static_cast<size_t>(row)]);
        const auto to = static_cast<size_t>(field.indptr[static_cast<size_t>(row) + 1]);
        for (size_t p = from; p < to; ++p)
            if (visit(field.first + field.indices[p], field.values[p])) return;
    }
}

// visit(feature, x) for each non-zero of a row.
template <class Real, class Visit>
void each_feature(const Design<Real>& design, size_t block, int64_t row, Visit&& visit) {
    visit_until(design, block, row, [&](int64_t feature, Real x) {
        visit(feature, x);
        return false;
    });
}

}  // namespace bitfm
