// What the binding's files share. nanobind is seen in this folder only.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "base/whole_numbers.hpp"
#include "parameters/bits.hpp"
#include "parameters/factor_view.hpp"

namespace bitfm {

namespace nb = nanobind;

template <class T>
using Array1 = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Array2 = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class Array>
auto span_of(const Array& array) {
    return std::span(array.data(), array.size());
}
template <class Array>
auto span_of(const std::optional<Array>& array) {
    return array ? span_of(*array) : decltype(span_of(*array)){};
}

// An array of whole numbers of any type that a model file has them in; whoever keeps the numbers keeps the object.
inline WholeNumbers whole_numbers(const nb::object& given) {
    nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu> array;
    if (nb::try_cast(given, array, false)) {
        const auto as = [&]<class T>(T) { return std::span(static_cast<const T*>(array.data()), array.size()); };
        if (array.dtype() == nb::dtype<uint8_t>()) return as(uint8_t());
        if (array.dtype() == nb::dtype<uint16_t>()) return as(uint16_t());
        if (array.dtype() == nb::dtype<uint32_t>()) return as(uint32_t());
        if (array.dtype() == nb::dtype<int32_t>()) return as(int32_t());
        if (array.dtype() == nb::dtype<int64_t>()) return as(int64_t());
    }
    throw nb::type_error("expected an array of whole numbers: uint8, uint16, uint32, int32 or int64");
}

template <class T>
Matrix<T> matrix_of(const Array2<T>& array) {
    return {array.data(), static_cast<int64_t>(array.shape(0)), static_cast<int64_t>(array.shape(1))};
}

// Codes (a byte is eight of them) or real factors, one row per feature.
inline FactorView view_of(Matrix<const uint8_t> codes, std::span<const float> gains = {}) {
    const int bits = bits_of_bytes(static_cast<size_t>(codes.columns));
    require(gains.empty() || static_cast<int64_t>(gains.size()) == codes.rows, "one gain per feature is needed");
    return FactorView::of(codes.all(), gains, codes.rows, bits);
}
template <class Real>
FactorView view_of(Matrix<const Real> factors) {
    require(factors.columns <= 1 << 20, "the rank must be at most 1048576");
    return FactorView::of(factors.all(), factors.rows, static_cast<int>(factors.columns));
}
template <class T>
FactorView view_of(const Array2<const T>& values) {
    return view_of(matrix_of(values));
}
inline FactorView view_of(const Array2<const uint8_t>& codes, std::span<const float> gains) {
    return view_of(matrix_of(codes), gains);
}

// Lets Ctrl-C through while the core works without the interpreter's lock.
void poll_signals();

// Numbers that the core is going to write, all of them: not set before, so that each thread touches its own part first.
template <class T>
struct Unset : std::allocator<T> {
    template <class U>
    struct rebind {
        using other = Unset<U>;
    };
    template <class U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
};
template <class T>
using UnsetVector = std::vector<T, Unset<T>>;

// A NumPy array that owns the vector's numbers, in a row or of a shape.
template <class T, class Allocator>
std::pair<T*, nb::capsule> own_numbers(std::vector<T, Allocator>&& values) {
    using Vector = std::vector<T, Allocator>;
    auto kept = std::make_unique<Vector>(std::move(values));
    nb::capsule owner(kept.get(), [](void* p) noexcept { delete static_cast<Vector*>(p); });
    return {kept.release()->data(), owner};
}
template <class T, class Allocator>
nb::ndarray<nb::numpy, T, nb::ndim<1>> own_array(std::vector<T, Allocator>&& values) {
    const size_t size = values.size();
    const auto [numbers, owner] = own_numbers(std::move(values));
    return {numbers, {size}, owner};
}
template <class T, class Allocator>
nb::ndarray<nb::numpy, T> own_array(std::vector<T, Allocator>&& values, const std::vector<int64_t>& shape) {
    const std::vector<size_t> extents(shape.begin(), shape.end());
    const auto [numbers, owner] = own_numbers(std::move(values));
    return {numbers, extents.size(), extents.data(), owner};
}

void bind_distillation(nb::module_& m);
void bind_delegate(nb::module_& m);
void bind_metrics(nb::module_& m);
void bind_fold_in(nb::module_& m);
void bind_functions(nb::module_& m);
void bind_implicit(nb::module_& m);
void bind_isa(nb::module_& m);
void bind_item_sums(nb::module_& m);
void bind_linalg(nb::module_& m);
void bind_normal(nb::module_& m);
void bind_pairs(nb::module_& m);
void bind_sides(nb::module_& m);
void bind_trainer(nb::module_& m);
void bind_transpose(nb::module_& m);
void bind_text(nb::module_& m);
void bind_retrieval(nb::module_& m);

}  // namespace bitfm
