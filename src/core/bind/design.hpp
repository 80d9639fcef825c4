// The design as Python builds it.
#pragma once

#include "bind/bind.hpp"
#include "design/design.hpp"

namespace bitfm {

// Keeps the Python arrays live that the design only borrows.
template <class Real>
struct BoundDesign {
    Design<Real> design;
    std::vector<nb::object> arrays;
    bool frozen = false;  // a trainer or a prediction relies on it

    void add_block(int64_t n_rows, Array1<const int32_t> rows) {
        require(!frozen, "the design is in use and cannot grow any more");
        arrays.push_back(nb::cast(rows));
        design.add_block(n_rows, span_of(rows));
    }
    void add_identity(int64_t n_columns) {
        require(!frozen, "the design is in use and cannot grow any more");
        Field<Real> field;
        field.n_columns = n_columns;
        field.identity = true;
        design.add_field(field);
    }
    void add_table(int64_t n_columns, Array1<const int64_t> indptr, Array1<const int32_t> indices,
                   Array1<const Real> values) {
        require(!frozen, "the design is in use and cannot grow any more");
        Field<Real> field;
        field.n_columns = n_columns;
        field.indptr = span_of(indptr);
        field.indices = span_of(indices);
        field.values = span_of(values);
        arrays.insert(arrays.end(), {nb::cast(indptr), nb::cast(indices), nb::cast(values)});
        design.add_field(field);
    }
    void add_dense(Array2<const int8_t> levels, float scale) {
        require(!frozen, "the design is in use and cannot grow any more");
        Field<Real> field;
        field.n_columns = static_cast<int64_t>(levels.shape(1));
        field.dense = true;
        field.levels = span_of(levels);
        field.scale = scale;
        arrays.push_back(nb::cast(levels));
        design.add_field(field);
    }
};

}  // namespace bitfm
