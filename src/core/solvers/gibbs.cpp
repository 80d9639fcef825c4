// Gibbs sampling of weights and factors.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/large_pages.hpp"
#include "base/normal.hpp"
#include "solvers/block_weights.hpp"
#include "solvers/factor_groups.hpp"
#include "solvers/solvers.hpp"

namespace bitfm {

namespace {

// Precisions must be positive; neither they nor means may be so large that their squares overflow.
template <class Real>
void require_prior(std::span<const double> precision, std::span<const double> mean, double noise_precision) {
    auto moderate = [](double x) { return x * x <= static_cast<double>(std::numeric_limits<Real>::max()); };
    auto positive = [&](double x) { return x > 0 && moderate(x); };
    require(positive(noise_precision) && std::all_of(precision.begin(), precision.end(), positive),
            "precisions must be positive, and their squares finite");
    require(std::all_of(mean.begin(), mean.end(), moderate), "means must be numbers whose squares are finite");
}

}  // namespace

template <class Real>
double draw_weights(Team& team, Residuals<Real>& residuals, double bias, std::span<Real> weights,
                    std::span<const double> precision, std::span<const double> mean, double noise_precision,
                    uint64_t seed) {
    const Design<Real>& design = residuals.design();
    require(static_cast<int64_t>(weights.size()) == design.n_features, "one weight per feature is needed");
    require(precision.size() == design.fields.size() && mean.size() == precision.size(),
            "precision and mean must be given for each field");
    require_prior<Real>(precision, mean, noise_precision);
    std::vector<float> noise(weights.size() + 1);
    fill_normal(seed, 0, noise);
    auto drawn = [&](int field, int64_t feature, double num, double den) {
        if (!(den > 0)) return mean[field];  // the data say nothing: the prior's mean stands for all draws
        const double total = noise_precision * den + precision[field];
        return (noise_precision * num + precision[field] * mean[field]) / total +
               static_cast<double>(noise[feature]) / std::sqrt(total);
    };
    for (size_t b = 0; b < design.blocks.size(); ++b) sweep_block_weights(team, residuals, b, weights, drawn);
    return bias + centre(team, residuals, static_cast<double>(noise.back()) / std::sqrt(noise_precision));
}

template <class Real>
void draw_factors(Team& team, Residuals<Real>& residuals, Matrix<Real> factors, Matrix<const double> precision,
                  Matrix<const double> mean, double noise_precision, uint64_t seed) {
    const Design<Real>& design = residuals.design();
    const int rank = rank_of(factors, design.n_features);
    const auto n_fields = static_cast<int64_t>(design.fields.size());
    require(precision.has_shape(n_fields, rank) && mean.has_shape(n_fields, rank),
            "precision and mean must be fields × rank");
    require_prior<Real>(precision.all(), mean.all(), noise_precision);
    ScratchVector<float> noise(static_cast<size_t>(design.n_features) * kLanes);
    each_group(team, residuals, factors, [&](GroupSweep<Real>& group, int which, int width) {
        team.run(static_cast<int64_t>(noise.size()), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            fill_normal(seed, which * static_cast<int64_t>(noise.size()) + begin,
                        std::span(noise).subspan(begin, end - begin));
        });
        RuleInput<Real> rule;
        rule.data_precision = static_cast<Real>(noise_precision);
        rule.noise = noise.data();
        group.sweep(team, rule, {precision.data + which * kLanes, mean.data + which * kLanes, rank, 1, width});
    });
}

#define BITFM_INSTANTIATE(Real)                                                                                   \
    template double draw_weights(Team&, Residuals<Real>&, double, std::span<Real>, std::span<const double>,       \
                                 std::span<const double>, double, uint64_t);                                      \
    template void draw_factors(Team&, Residuals<Real>&, Matrix<Real>, Matrix<const double>, Matrix<const double>, \
                               double, uint64_t);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
