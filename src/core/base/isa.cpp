#include "base/isa.hpp"

#include <atomic>
#include <cstdlib>

#include "base/error.hpp"

namespace bitfm {

const std::vector<Isa>& available_isas() {
    static const std::vector<Isa> isas = [] {
        std::vector<Isa> found{{"portable", kernels_portable()}};
#ifdef BITFM_X86
        __builtin_cpu_init();
        bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
                    __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
        if (avx2) found.push_back({"avx2", kernels_avx2()});
        if (avx2 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vpopcntdq") &&
            __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512vbmi") &&
            __builtin_cpu_supports("avx512bitalg") && __builtin_cpu_supports("gfni"))
            found.push_back({"avx512", kernels_avx512()});
#endif
        return found;
    }();
    return isas;
}

namespace {

const Isa& find_isa(const std::string& name) {
    std::string names;
    for (const Isa& candidate : available_isas()) {
        if (candidate.name == name) return candidate;
        names += names.empty() ? candidate.name : std::string(", ") + candidate.name;
    }
    throw BadInput("instruction set '" + name + "' is not available on this machine; choose one of: " + names);
}

const Isa* initial_isa() {
    const char* wanted = std::getenv("BITFM_ISA");
    return wanted && *wanted ? &find_isa(wanted) : &available_isas().back();
}

std::atomic<const Isa*>& current_isa() {
    static std::atomic<const Isa*> current{initial_isa()};
    return current;
}

}  // namespace

const Isa& isa() {
    return *current_isa().load();
}

void use_isa(const std::string& name) {
    current_isa() = &find_isa(name);
}

}  // namespace bitfm
