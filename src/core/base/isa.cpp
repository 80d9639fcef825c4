#include "base/isa.hpp"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "base/error.hpp"

#ifdef BITFM_X86
#include <cpuid.h>
#endif

namespace bitfm {

#ifdef BITFM_X86
namespace {

struct Processor {
    bool avx2, avx512;  // each with all that CMakeLists.txt compiles beside it
};

// By hand, as __builtin_cpu_supports needs a symbol that not every compiler's library has: Zig's does not.
Processor this_processor() {
    std::uint32_t eax = 0, ebx = 0, ecx1 = 0, edx = 0, ecx = 0;
    auto bits = [](std::uint32_t word, std::initializer_list<int> positions) {
        for (int position : positions)
            if (!(word >> position & 1)) return false;
        return true;
    };
    constexpr int fma = 12, popcnt = 23, osxsave = 27;
    if (!__get_cpuid(1, &eax, &ebx, &ecx1, &edx) || !bits(ecx1, {fma, popcnt, osxsave})) return {false, false};
    std::uint32_t saved = 0;  // the registers that the system saves: 1 and 2 for AVX, 5 to 7 as well for AVX-512
    __asm__("xgetbv" : "=a"(saved), "=d"(edx) : "c"(0));
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return {false, false};
    constexpr int bmi = 3, avx2 = 5, bmi2 = 8, avx512f = 16, avx512dq = 17, avx512bw = 30, avx512vl = 31;  // of EBX
    constexpr int vbmi = 1, gfni = 8, vnni = 11, bitalg = 12, vpopcntdq = 14;                              // of ECX
    return {bits(saved, {1, 2}) && bits(ebx, {bmi, avx2, bmi2}),
            bits(saved, {1, 2, 5, 6, 7}) && bits(ebx, {avx512f, avx512dq, avx512bw, avx512vl}) &&
                bits(ecx, {vbmi, gfni, vnni, bitalg, vpopcntdq})};
}

}  // namespace
#endif

const std::vector<Isa>& available_isas() {
    static const std::vector<Isa> isas = [] {
        std::vector<Isa> found{{"portable", kernels_portable()}};
#ifdef BITFM_X86
        const Processor processor = this_processor();
        if (processor.avx2) found.push_back({"avx2", kernels_avx2()});
        if (processor.avx2 && processor.avx512) found.push_back({"avx512", kernels_avx512()});
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
