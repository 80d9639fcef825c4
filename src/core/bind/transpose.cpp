#include "design/transpose.hpp"

#include <algorithm>

#include "base/sizes.hpp"
#include "bind/bind.hpp"
#include "design/design.hpp"

namespace bitfm {

namespace {

template <class Real>
void bind_for(nb::module_& m, const char* name) {
    m.def(
        name,
        [](int64_t n_columns, Array1<const int64_t> indptr, Array1<const int32_t> indices, Array1<const Real> values) {
            UnsetVector<int64_t> start;
            UnsetVector<int32_t> rows;
            UnsetVector<Real> by_column;
            {
                nb::gil_scoped_release release;
                const SparseRows<Real> table{span_of(indptr), span_of(indices), span_of(values)};
                const auto n_rows = static_cast<int64_t>(table.indptr.size()) - 1;
                require_at_most(static_cast<size_t>(std::max<int64_t>(n_rows, 0)), kMostRows, "transpose", "rows");
                check_table("transpose", n_rows, n_columns, table.indptr, table.indices, table.values.size());
                start.resize(static_cast<size_t>(n_columns) + 1);
                rows.resize(table.indices.size());
                by_column.resize(table.indices.size());
                transpose<Real>(table, {start, rows, by_column});
            }
            return std::tuple(own_array(std::move(start)), own_array(std::move(rows)), own_array(std::move(by_column)));
        },
        nb::arg("n_columns"), nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
        nb::arg("values").noconvert());
}

}  // namespace

void bind_transpose(nb::module_& m) {
    bind_for<float>(m, "transpose32");
    bind_for<double>(m, "transpose64");
}

}  // namespace bitfm
