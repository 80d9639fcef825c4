// Alternating least squares: real factors, coordinate by coordinate.
#include "base/error.hpp"
#include "solvers/factor_groups.hpp"
#include "solvers/solvers.hpp"

namespace bitfm {

template <class Real>
void sweep_factors(Team& team, Residuals<Real>& residuals, Matrix<Real> factors, std::span<const double> ridge,
                   std::optional<Matrix<const float>> linear, double scale) {
    const Design<Real>& design = residuals.design();
    const int64_t n_features = design.n_features;
    const int rank = rank_of(factors, n_features);
    require(ridge.size() == design.fields.size(), "one ridge per field is needed");
    require(!linear || linear->has_shape(n_features, rank), "the linear term must have the factors' shape");
    std::vector<float> padded;
    each_group(team, residuals, factors, [&](GroupSweep<Real>& group, int which, int width) {
        RuleInput<Real> rule;
        rule.linear_scale = static_cast<Real>(scale);
        if (linear) {
            rule.linear = linear->data + which * kLanes;
            rule.linear_stride = rank;
            if (width < kLanes) {  // lanes beyond the rank must see zeros, not the next row
                padded.assign(static_cast<size_t>(n_features) * kLanes, 0);
                for (int64_t i = 0; i < n_features; ++i)
                    std::copy_n(linear->row(i) + which * kLanes, width, padded.data() + i * kLanes);
                rule.linear = padded.data();
                rule.linear_stride = kLanes;
            }
        }
        group.sweep(team, rule, Prior::ridge(ridge));
    });
}

#define BITFM_INSTANTIATE(Real)                                                                 \
    template void sweep_factors(Team&, Residuals<Real>&, Matrix<Real>, std::span<const double>, \
                                std::optional<Matrix<const float>>, double);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
