#include "solvers/delegate.hpp"

#include "base/error.hpp"
#include "bind/bind.hpp"

namespace bitfm {

namespace {

template <class Values>
void bind_for(nb::module_& m) {
    m.def(
        "moments",
        [](const Values& values, Array1<double> mean, Array2<double> gram, int n_threads) {
            const FactorView view = view_of(values);
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            moments(team, view, span_of(mean), span_of(gram));
        },
        nb::arg("values").noconvert(), nb::arg("mean").noconvert(), nb::arg("gram").noconvert(), nb::arg("n_threads"));
    m.def(
        "map_features",
        [](const Values& values, Array1<const double> mean, Array2<const double> transform, Array2<float> out,
           int n_threads) {
            const FactorView view = view_of(values);
            nb::gil_scoped_release release;
            Team team(n_threads, poll_signals);
            map_features(team, view, span_of(mean), span_of(transform), span_of(out));
        },
        nb::arg("values").noconvert(), nb::arg("mean").noconvert(), nb::arg("transform").noconvert(),
        nb::arg("out").noconvert(), nb::arg("n_threads"));
}

}  // namespace

void bind_delegate(nb::module_& m) {
    bind_for<Array2<const uint8_t>>(m);
    bind_for<Array2<const float>>(m);
    bind_for<Array2<const double>>(m);
}

}  // namespace bitfm
