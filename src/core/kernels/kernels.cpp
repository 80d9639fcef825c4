// Compiled once per instruction set, with BITFM_ISA its name and the flags to match.
//
// Everything lives in that instruction set's own namespace and nothing of the standard library is used: an inline
// function that the linker shares between builds could bring wider instructions to a machine that lacks them.
#include "kernels/kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define BITFM_JOIN_(a, b) a##b
#define BITFM_JOIN(a, b) BITFM_JOIN_(a, b)
#define BITFM_INLINE inline __attribute__((always_inline))
#define BITFM_INLINE_LAMBDA __attribute__((always_inline))

#if defined(__AVX512F__)
#define BITFM_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define BITFM_VECTOR_BYTES 32
#else
#define BITFM_VECTOR_BYTES 16
#endif

namespace bitfm {
namespace BITFM_ISA {
namespace {
#include "kernels/lanes.hpp"
// The order matters: each builds on the one above.
#include "kernels/anchor.hpp"
#include "kernels/flips.hpp"
#include "kernels/moments.hpp"
#include "kernels/normal.hpp"
#include "kernels/pairs.hpp"
#include "kernels/products.hpp"
#include "kernels/scan.hpp"
#include "kernels/sgd.hpp"
#include "kernels/sweep.hpp"
}  // namespace
}  // namespace BITFM_ISA

const Kernels* BITFM_JOIN(kernels_, BITFM_ISA)() {
    using namespace BITFM_ISA;
    static const Kernels table{
        sweep_kernels<float>(),
        sweep_kernels<double>(),
        {update_rows},
        sgd<float>,
        sgd<double>,
        anchor_columns,
        anchor_feature,
        add_gram,
        map_rows,
        scan_codes,
        scan_vectors,
        exact_product,
        above,
        sum_features,
        sum_squares,
        short_product,
        fill_pairs,
    };
    return &table;
}

}  // namespace bitfm
