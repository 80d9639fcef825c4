// Compiled once per instruction set, with BITFM_ISA its name and the flags to match; see prelude.hpp.
#include "kernels/kernels.hpp"

#include "kernels/code_rows.hpp"
#include "kernels/distillation.hpp"
#include "kernels/flips.hpp"
#include "kernels/implicit.hpp"
#include "kernels/linalg.hpp"
#include "kernels/moments.hpp"
#include "kernels/normal.hpp"
#include "kernels/pairs.hpp"
#include "kernels/products.hpp"
#include "kernels/scan.hpp"
#include "kernels/sgd.hpp"
#include "kernels/sweep.hpp"

#define BITFM_JOIN_(a, b) a##b
#define BITFM_JOIN(a, b) BITFM_JOIN_(a, b)

namespace bitfm {

namespace BITFM_ISA {
namespace {

template <class Real>
constexpr SweepKernels<Real> kSweepKernels{
    .update_bare = update_bare<Real>,
    .gather_rows = gather_rows<Real>,
    .collect_shared = collect_shared<Real>,
    .apply_shared = apply_shared<Real>,
    .advance_shared = advance_shared<Real>,
    .scatter_rows = scatter_rows<Real>,
    .collect_direct = collect_direct<Real>,
    .apply_direct = apply_direct<Real>,
    .solve = solve<Real>,
    .add_pairs = add_pairs<Real>,
    .sgd = sgd<Real>,
};

template <class Real>
constexpr LinalgKernels<Real> kLinalgKernels{
    .tile_rows = kTileRows,
    .tile_columns = kTileColumns<Real>,
    .multiply_tile = multiply_tile<Real>,
    .factor = factor<Real>,
};

constexpr Kernels kKernels{
    .sweep32 = kSweepKernels<float>,
    .sweep64 = kSweepKernels<double>,
    .linalg32 = kLinalgKernels<float>,
    .linalg64 = kLinalgKernels<double>,
    .codes = {.update_flip_rows = update_flip_rows,
              .distill_columns = distill_columns,
              .distill_feature = distill_feature,
              .add_gram = add_gram,
              .map_rows = map_rows},
    .implicit = {.dot = dot_product,
                 .add_scaled = add_scaled,
                 .add_products = add_products,
                 .add_lacking = add_lacking,
                 .solve_forward = solve_forward,
                 .descend_levels = descend_levels,
                 .count_common = count_common},
    .scans = {.scan_codes = scan_codes, .scan_vectors = scan_vectors, .exact_product = exact_product, .above = above},
    .pairs = {.score_rows = score_rows, .score_ids = score_ids, .add_codes = add_codes, .wide_product = wide_product},
    .fill_normal_pairs = fill_normal_pairs,
};

}  // namespace
}  // namespace BITFM_ISA

const Kernels* BITFM_JOIN(kernels_, BITFM_ISA)() {
    return &BITFM_ISA::kKernels;
}

}  // namespace bitfm
