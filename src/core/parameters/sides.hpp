// What one side of a model, its users or its items, amounts to: a row is a vector Σ x g b, or a single code.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"
#include "design/design.hpp"
#include "parameters/factor_view.hpp"

namespace bitfm {

// A row that has one feature alone, or none: its code is the feature's, times `amount`.
struct SingleFeature {
    static constexpr int64_t kNone = -1, kSeveral = -2;
    std::span<int64_t> feature;  // or kNone, or kSeveral
    std::span<float> amount;     // x g of the feature
};

// For each interaction. Features whose x g is 0 do not count.
template <class Real>
void single_features(Team& team, const Design<Real>& design, std::span<const float> gains, const SingleFeature& out);

// Each interaction's constant, bias + Σ w x + its pair terms, and its vector Σ x g b, over all blocks of the design:
// what it adds to a score by itself, and times the vector of the other side. `cross` leaves out pairs within a block.
// `vectors` has a row of width numbers per interaction, or is empty: then they are not wanted.
template <class Real, class Weight>
void side_rows(Team& team, const Design<Real>& design, double bias, std::span<const Weight> weights,
               const FactorView& factors, bool cross, std::span<double> constants, std::span<float> vectors);

}  // namespace bitfm
