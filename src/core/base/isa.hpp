// Which instruction set the kernels use.
#pragma once

#include <string>
#include <vector>

#include "kernels/kernels.hpp"

namespace bitfm {

struct Isa {
    const char* name;
    const Kernels* kernels;
};

// What this build holds and this machine can run, the best last. "portable" is always there.
const std::vector<Isa>& available_isas();

// The one in use: the best, or what BITFM_ISA or use_isa() asked for.
const Isa& isa();

// Switch to `name`; an error that lists the choices if the machine cannot.
void use_isa(const std::string& name);

}  // namespace bitfm
