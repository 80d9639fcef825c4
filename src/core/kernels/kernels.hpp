// The kernels: inner loops that are compiled once per instruction set, in tables that are filled by name.
#pragma once

#include "kernels/code_kernels.hpp"
#include "kernels/implicit_kernels.hpp"
#include "kernels/linalg_kernels.hpp"
#include "kernels/pair_kernels.hpp"
#include "kernels/scan_kernels.hpp"
#include "kernels/sweep_kernels.hpp"

namespace bitfm {

struct Kernels {
    SweepKernels<float> sweep32;
    SweepKernels<double> sweep64;
    LinalgKernels<float> linalg32;
    LinalgKernels<double> linalg64;
    CodeKernels codes;
    ImplicitKernels implicit;
    ScanKernels scans;
    PairKernels pairs;
    // Standard normal numbers, two at each of the places first, first + 2, …
    void (*fill_normal_pairs)(uint64_t seed, uint64_t first, int64_t n_pairs, float* out);

    template <class Real>
    const SweepKernels<Real>& sweep() const {
        if constexpr (sizeof(Real) == 4)
            return sweep32;
        else
            return sweep64;
    }
    template <class Real>
    const LinalgKernels<Real>& linalg() const {
        if constexpr (sizeof(Real) == 4)
            return linalg32;
        else
            return linalg64;
    }
};

const Kernels* kernels_portable();
const Kernels* kernels_avx2();
const Kernels* kernels_avx512();

}  // namespace bitfm
