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

// Σ x v of each interaction, over all blocks of the design: a row of width numbers.
template <class Real>
void side_vectors(Team& team, const Design<Real>& design, const FactorView& factors, std::span<float> out);

}  // namespace bitfm
