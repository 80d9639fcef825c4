#include "parameters/sides.hpp"

#include <vector>

#include "base/error.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 512;

template <class Real, class Visit>
void each_of_interaction(const Design<Real>& design, int64_t interaction, Visit&& visit) {
    for (size_t b = 0; b < design.blocks.size(); ++b)
        each_feature(design, b, design.blocks[b].rows[static_cast<size_t>(interaction)], visit);
}

}  // namespace

template <class Real>
void single_features(Team& team, const Design<Real>& design, std::span<const float> gains, const SingleFeature& out) {
    require(static_cast<int64_t>(gains.size()) == design.n_features, "one gain per feature is needed");
    require(static_cast<int64_t>(out.feature.size()) == design.n && out.amount.size() == out.feature.size(),
            "room for one feature per interaction is needed");
    team.run(design.n, kGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) {
            int64_t found = SingleFeature::kNone;
            double amount = 0;
            each_of_interaction(design, s, [&](int64_t feature, Real x) {
                const double share = static_cast<double>(x) * static_cast<double>(gains[static_cast<size_t>(feature)]);
                if (share == 0) return;
                found = found == SingleFeature::kNone ? feature : SingleFeature::kSeveral;
                amount = share;
            });
            out.feature[static_cast<size_t>(s)] = found;
            out.amount[static_cast<size_t>(s)] = static_cast<float>(amount);
        }
    });
}

template <class Real>
void side_vectors(Team& team, const Design<Real>& design, const FactorView& factors, std::span<float> out) {
    require(factors.n_features == design.n_features, "one row of factors per feature is needed");
    require(static_cast<int64_t>(out.size()) == design.n * factors.width,
            "room for one vector per interaction is needed");
    const auto width = static_cast<size_t>(factors.n_groups()) * kLanes;
    std::vector<std::vector<double>> sums(static_cast<size_t>(team.size()), std::vector<double>(width));
    team.run(design.n, kGrain, [&](int64_t begin, int64_t end, int thread) {
        std::vector<double>& sum = sums[static_cast<size_t>(thread)];
        for (int64_t s = begin; s < end; ++s) {
            sum.assign(width, 0);
            each_of_interaction(design, s, [&](int64_t feature, Real x) {
                for (int group = 0; group < factors.n_groups(); ++group) {
                    double v[kLanes];
                    factors.load(feature, group, v);
                    for (int t = 0; t < kLanes; ++t)
                        sum[static_cast<size_t>(group * kLanes + t)] += static_cast<double>(x) * v[t];
                }
            });
            for (int t = 0; t < factors.width; ++t)
                out[static_cast<size_t>(s * factors.width + t)] = static_cast<float>(sum[static_cast<size_t>(t)]);
        }
    });
}

#define BITFM_INSTANTIATE(Real)                                                                              \
    template void single_features(Team&, const Design<Real>&, std::span<const float>, const SingleFeature&); \
    template void side_vectors(Team&, const Design<Real>&, const FactorView&, std::span<float>);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
