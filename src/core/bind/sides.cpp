// What the rows of a model's users or items amount to.
#include "topn/sides.hpp"

#include "bind/bind.hpp"
#include "bind/design.hpp"

namespace bitfm {

namespace {

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
    m.def(
        "side_vectors",
        [](Bound& bound, Array2<const uint8_t> codes, Array1<const float> gains, int n_threads) {
            bound.frozen = true;
            require(gains.size() == codes.shape(0), "one gain per feature is needed");
            const FactorView factors = view_of(codes, span_of(gains));
            std::vector<float> out(static_cast<size_t>(bound.design.n * factors.width));
            {
                nb::gil_scoped_release release;
                Team team(n_threads, poll_signals);
                side_vectors<Real>(team, bound.design, factors, out);
            }
            return own_array(std::move(out));
        },
        nb::arg("design"), nb::arg("codes").noconvert(), nb::arg("gains").noconvert(), nb::arg("n_threads"));
}

}  // namespace

void bind_sides(nb::module_& m) {
    bind_for<float>(m);
    bind_for<double>(m);
}

}  // namespace bitfm
