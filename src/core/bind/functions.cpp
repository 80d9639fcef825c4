#include "base/functions.hpp"

#include "base/memory.hpp"
#include "bind/bind.hpp"

namespace bitfm {

namespace {

void bind_one(nb::module_& m, const char* name, double (*function)(double)) {
    m.def(
        name,
        [function](Array1<const double> x) {
            UnsetVector<double> out(x.size());
            nb::gil_scoped_release release;
            for (size_t i = 0; i < out.size(); ++i) out[i] = function(x.data()[i]);
            nb::gil_scoped_acquire acquire;
            return own_array(std::move(out));
        },
        nb::arg("x").noconvert());
}

}  // namespace

void bind_functions(nb::module_& m) {
    bind_one(m, "logarithm", logarithm);
    bind_one(m, "logistic", logistic);
    bind_one(m, "softplus", softplus);
    m.def("release_memory", &release_memory, "Give memory that was freed back to the system.",
          nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace bitfm
