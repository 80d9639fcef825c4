// Vectors of items by tables of their features.
#include "bind/item_sums.hpp"

#include "base/sizes.hpp"

namespace bitfm {

namespace {

using Codes = Array2<const uint8_t>;
using Reals = Array1<const float>;
using Rows = Array1<const int32_t>;

void init(BoundItemSums* self, const Codes& codes, const Reals& gains, int64_t n_rows) {
    require(gains.size() == codes.shape(0), "one gain per feature is needed");
    new (self) BoundItemSums{ItemSums(view_of(codes, span_of(gains)), n_rows), {nb::cast(codes), nb::cast(gains)}};
}

void add_identity(BoundItemSums& self, int64_t n_columns) {
    ItemField field;
    field.n_columns = n_columns;
    self.add(field, {});
}

void add_singles(BoundItemSums& self, int64_t n_columns, const nb::object& singles) {
    ItemField field;
    field.form = ItemField::Form::singles;
    field.n_columns = n_columns;
    field.singles = whole_numbers(singles);
    self.add(field, {singles});
}

void add_words(BoundItemSums& self, int64_t n_columns, const nb::object& indptr, const nb::object& words,
               const Array1<const double>& weights) {
    ItemField field;
    field.form = ItemField::Form::words;
    field.n_columns = n_columns;
    field.indptr = whole_numbers(indptr);
    field.indices = whole_numbers(words);
    field.weights = span_of(weights);
    self.add(field, {indptr, words, nb::cast(weights)});
}

// Values of either type, or none.
template <class Value>
void add_sparse(BoundItemSums& self, int64_t n_columns, const nb::object& indptr, const nb::object& indices,
                const Array1<const Value>& values) {
    ItemField field;
    field.form = ItemField::Form::sparse;
    field.n_columns = n_columns;
    field.indptr = whole_numbers(indptr);
    field.indices = whole_numbers(indices);
    if constexpr (std::is_same_v<Value, float>)
        field.reals = span_of(values);
    else
        field.wholes = span_of(values);
    self.add(field, {indptr, indices, nb::cast(values)});
}

template <class Value>
void add_dense(BoundItemSums& self, const Array2<const Value>& values, float scale) {
    ItemField field;
    field.form = ItemField::Form::dense;
    field.n_columns = static_cast<int64_t>(values.shape(1));
    field.scale = scale;
    if constexpr (std::is_same_v<Value, float>)
        field.reals = span_of(values);
    else
        field.wholes = span_of(values);
    self.add(field, {nb::cast(values)});
}

template <class Value>
void bind_values(nb::class_<BoundItemSums>& sums) {
    sums.def("add_sparse", &add_sparse<Value>, nb::arg("n_columns"), nb::arg("indptr"), nb::arg("indices"),
             nb::arg("values").noconvert())
        .def("add_dense", &add_dense<Value>, nb::arg("values").noconvert(), nb::arg("scale"));
}

auto n_terms(BoundItemSums& self, const Rows& rows) {
    const ItemSums& sums = self.ready();
    std::vector<int64_t> out(rows.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = sums.n_terms(rows.data()[i]);
    return own_array(std::move(out));
}

auto vectors(BoundItemSums& self, const Rows& rows) {
    const ItemSums& sums = self.ready();
    const auto width = static_cast<size_t>(sums.width());
    std::vector<float> out(numbers_of(rows.size(), width));
    {
        nb::gil_scoped_release release;
        ItemSums::Terms terms;
        for (size_t i = 0; i < rows.size(); ++i)
            sums.sum(rows.data()[i], terms, std::span(out).subspan(i * width, width));
    }
    return own_array(std::move(out), {static_cast<int64_t>(rows.size()), static_cast<int64_t>(width)});
}

}  // namespace

void bind_item_sums(nb::module_& m) {
    nb::class_<BoundItemSums> sums(m, "ItemSums");
    sums.def("__init__", &init, nb::arg("codes").noconvert(), nb::arg("gains").noconvert(), nb::arg("n_rows"))
        .def("add_identity", &add_identity, nb::arg("n_columns"))
        .def("add_singles", &add_singles, nb::arg("n_columns"), nb::arg("singles"))
        .def("add_words", &add_words, nb::arg("n_columns"), nb::arg("indptr"), nb::arg("words"),
             nb::arg("weights").noconvert())
        .def("n_terms", &n_terms, nb::arg("rows").noconvert())
        .def("vectors", &vectors, nb::arg("rows").noconvert());
    bind_values<float>(sums);
    bind_values<int8_t>(sums);
}

}  // namespace bitfm
