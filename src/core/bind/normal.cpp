#include "base/normal.hpp"

#include "bind/bind.hpp"

namespace bitfm {

void bind_normal(nb::module_& m) {
    m.def(
        "normal",
        [](uint64_t seed, int64_t first, int64_t n) {
            require(first >= 0 && first % 2 == 0, "the first place must be an even number from 0 up");
            require(n >= 0 && n <= INT64_MAX - first, "the places must be from 0 to below 2^63");
            std::vector<float> out(static_cast<size_t>(n));
            fill_normal(seed, first, out);
            return own_array(std::move(out));
        },
        nb::arg("seed"), nb::arg("first"), nb::arg("n"));
}

}  // namespace bitfm
