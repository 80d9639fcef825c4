// What the rows of a model's users or items amount to.
#include "parameters/sides.hpp"

#include "bind/bind.hpp"
#include "bind/design.hpp"

namespace bitfm {

namespace {

// Weights as the model has them, whatever the rows have: converting all of them would take longer than a few rows.
template <class Real, class Weight>
void bind_side_rows(nb::module_& m) {
    m.def(
        "side_rows",
        [](BoundDesign<Real>& bound, double bias, Array1<const Weight> weights, Array2<const uint8_t> codes,
           Array1<const float> gains, bool cross, bool with_vectors, int n_threads) {
            bound.frozen = true;
            require(gains.size() == codes.shape(0), "one gain per feature is needed");
            const FactorView factors = view_of(codes, span_of(gains));
            std::vector<double> constants(static_cast<size_t>(bound.design.n));
            std::vector<float> vectors(with_vectors ? static_cast<size_t>(bound.design.n * factors.width) : 0);
            {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_signals);
                side_rows<Real, Weight>(team, bound.design, bias, span_of(weights), factors, cross, constants, vectors);
            }
            return std::pair(own_array(std::move(constants)), own_array(std::move(vectors)));
        },
        nb::arg("design"), nb::arg("bias"), nb::arg("weights").noconvert(), nb::arg("codes").noconvert(),
        nb::arg("gains").noconvert(), nb::arg("across"), nb::arg("vectors"), nb::arg("n_threads"));
}

template <class Real>
void bind_for(nb::module_& m) {
    using Bound = BoundDesign<Real>;
    m.def(
        "single_features",
        [](Bound& bound, Array1<const float> gains, int n_threads) {
            bound.frozen = true;
            std::vector<int64_t> feature(static_cast<size_t>(bound.design.n));
            std::vector<float> amount(feature.size());
            {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_signals);
                single_features<Real>(team, bound.design, span_of(gains), {feature, amount});
            }
            return std::pair(own_array(std::move(feature)), own_array(std::move(amount)));
        },
        nb::arg("design"), nb::arg("gains").noconvert(), nb::arg("n_threads"));
    bind_side_rows<Real, float>(m);
    bind_side_rows<Real, double>(m);
}

}  // namespace

void bind_sides(nb::module_& m) {
    bind_for<float>(m);
    bind_for<double>(m);
}

}  // namespace bitfm
