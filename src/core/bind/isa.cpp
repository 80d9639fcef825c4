#include "base/isa.hpp"

#include "bind/bind.hpp"

namespace bitfm {

void bind_isa(nb::module_& m) {
    m.def("isa", [] { return std::string(isa().name); }, "The instruction set in use.");
    m.def("available_isas", [] {
        std::vector<std::string> names;
        for (const Isa& one : available_isas()) names.emplace_back(one.name);
        return names;
    });
    m.def("use_isa", &use_isa, nb::arg("name"));
}

}  // namespace bitfm
