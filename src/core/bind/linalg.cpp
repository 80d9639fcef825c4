#include "base/sizes.hpp"
#include "bind/bind.hpp"
#include "linalg/column_sums.hpp"
#include "linalg/product.hpp"
#include "linalg/symmetric.hpp"

namespace bitfm {

namespace {

template <class T>
using AnyOrder = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;

template <class Real>
Strided<Real> strided(const AnyOrder<Real>& array) {
    return {array.data(), static_cast<int64_t>(array.shape(0)), static_cast<int64_t>(array.shape(1)), array.stride(0),
            array.stride(1)};
}

template <class Real>
void bind_product(nb::module_& m, const char* name) {
    m.def(
        name,
        [](const AnyOrder<Real>& a, const AnyOrder<Real>& b, int n_threads) {
            const Strided<Real> left = strided<Real>(a), right = strided<Real>(b);
            UnsetVector<Real> out;
            {
                nb::gil_scoped_release release;
                out.resize(numbers_of(a.shape(0), b.shape(1), "the product"));
                Team team(n_threads, poll_signals);
                multiply(team, left, right, out.data());
            }
            return own_array(std::move(out), {left.rows, right.columns});
        },
        nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("n_threads"));
}

template <class Real>
void bind_sums(nb::module_& m, const char* name) {
    m.def(
        name,
        [](Array2<const Real> values, Array1<const int64_t> rows, Array1<const double> centre) {
            std::vector<double> sums(centre.size()), squares(centre.size());
            {
                nb::gil_scoped_release release;
                column_sums<Real>(matrix_of(values), span_of(rows), span_of(centre), sums, squares);
            }
            return std::pair(own_array(std::move(sums)), own_array(std::move(squares)));
        },
        nb::arg("values").noconvert(), nb::arg("rows").noconvert(), nb::arg("centre").noconvert());
}

}  // namespace

void bind_linalg(nb::module_& m) {
    bind_product<float>(m, "multiply32");
    bind_product<double>(m, "multiply64");
    m.attr("PRODUCT_SPAN") = kProductSpan;
    m.def(
        "add_product32",
        [](Array2<float> total, const AnyOrder<float>& a, const AnyOrder<float>& b, int n_threads) {
            const Strided<float> left = strided<float>(a), right = strided<float>(b);
            require(matrix_of(total).has_shape(left.rows, right.columns), "the total must have the product's shape");
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            multiply(team, left, right, total.data(), true);
        },
        nb::arg("total").noconvert(), nb::arg("a").noconvert(), nb::arg("b").noconvert(), nb::arg("n_threads"));
    bind_sums<float>(m, "column_sums32");
    bind_sums<double>(m, "column_sums64");
    m.def(
        "solve_positive",
        [](Array2<double> a, Array2<double> b) {
            nb::gil_scoped_release release;
            return solve_positive(matrix_of(a), matrix_of(b));
        },
        nb::arg("a").noconvert(), nb::arg("b").noconvert());
    m.def(
        "eigenvectors",
        [](Array2<double> a, Array1<double> values) {
            nb::gil_scoped_release release;
            eigenvectors(matrix_of(a), span_of(values));
        },
        nb::arg("a").noconvert(), nb::arg("values").noconvert());
    m.def(
        "make_orthonormal",
        [](Array2<double> rows) {
            nb::gil_scoped_release release;
            make_orthonormal(matrix_of(rows));
        },
        nb::arg("rows").noconvert());
}

}  // namespace bitfm
