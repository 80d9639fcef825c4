// The D-step's passes over the features: moments of the codes (or factors), and their map to D.
#pragma once

#include <span>
#include <vector>

#include "base/parallel.hpp"
#include "parameters/factor_view.hpp"

namespace bitfm {

// mean (width) and gram (width × width) = Σ v v', added up in an order that does not depend on the threads.
void moments(Team& team, const FactorView& values, std::span<double> mean, std::span<double> gram);

// out = (v − mean) · transform, a row per feature.
void map_features(Team& team, const FactorView& values, std::span<const double> mean, std::span<const double> transform,
                  std::span<float> out);

}  // namespace bitfm
