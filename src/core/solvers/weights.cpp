// The w-step: ridge regression, weight by weight.
#include "base/error.hpp"
#include "solvers/block_weights.hpp"
#include "solvers/solvers.hpp"

namespace bitfm {

template <class Real>
double sweep_weights(Team& team, Residuals<Real>& residuals, double bias, std::span<Real> weights,
                     std::span<const double> ridge, bool fit_bias) {
    const Design<Real>& design = residuals.design();
    require(static_cast<int64_t>(weights.size()) == design.n_features, "one weight per feature is needed");
    require(ridge.size() == design.fields.size(), "one ridge per field is needed");
    auto shrunk = [&](int field, int64_t feature, double num, double den) {
        const double total = den + ridge[field];
        return total > 0 ? num / total : static_cast<double>(weights[feature]);
    };
    for (size_t b = 0; b < design.blocks.size(); ++b) sweep_block_weights(team, residuals, b, weights, shrunk);
    return fit_bias ? bias + centre(team, residuals, 0) : bias;
}

template double sweep_weights(Team&, Residuals<float>&, double, std::span<float>, std::span<const double>, bool);
template double sweep_weights(Team&, Residuals<double>&, double, std::span<double>, std::span<const double>, bool);

}  // namespace bitfm
