#include "sweep/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/normal.hpp"
#include "codes/bits.hpp"
#include "sweep/group_sweep.hpp"
#include "sweep/score.hpp"

namespace bitfm {

namespace {
constexpr int64_t kInteractionGrain = 16384;
constexpr double kLargestBeta = 1e12;
}  // namespace

template <class Real>
void require_prior(std::span<const double> precision, std::span<const double> mean, Draw draw) {
    auto moderate = [](double x) { return x * x <= static_cast<double>(std::numeric_limits<Real>::max()); };
    auto positive = [&](double x) { return x > 0 && moderate(x); };
    require(positive(draw.precision) && std::all_of(precision.begin(), precision.end(), positive),
            "precisions must be positive, and their squares finite");
    require(std::all_of(mean.begin(), mean.end(), moderate), "means must be numbers whose squares are finite");
}
template void require_prior<float>(std::span<const double>, std::span<const double>, Draw);
template void require_prior<double>(std::span<const double>, std::span<const double>, Draw);

template <class Real>
Trainer<Real>::Trainer(const Design<Real>& design, std::span<const Real> targets, std::span<const Real> weights,
                       bool cross)
    : Trainer(std::make_shared<const TrainingSet<Real>>(design, targets, weights), cross,
              std::make_shared<std::atomic<bool>>(false)) {}

template <class Real>
Trainer<Real>::Trainer(std::shared_ptr<const TrainingSet<Real>> data, bool cross,
                       std::shared_ptr<std::atomic<bool>> cancelled)
    : data_(std::move(data)), set_(*data_), cross_(cross), cancelled_(std::move(cancelled)), residual_(set_.target) {}

template <class Real>
void Trainer<Real>::reset(Team& team, double bias, std::span<const Real> weights, const FactorView& factors) {
    require(
        static_cast<int64_t>(weights.size()) == set_.design.n_features && factors.n_features == set_.design.n_features,
        "weights and factors must have a row for each of the " + std::to_string(set_.design.n_features) + " features");
    std::fill(residual_.begin(), residual_.end(), static_cast<Real>(bias));
    std::vector<const int32_t*> row_of;
    for (const auto& block : set_.blocks) row_of.push_back(block.row_of.data());
    add_scores<Real, Real>(team, set_.design, row_of, weights, factors, cross_, residual_);
    team.run(set_.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) residual_[s] = set_.target[s] - residual_[s];
    });
    flips_.drop();
}

template <class Real>
double Trainer<Real>::loss(Team& team) {
    flips_.settle(team, set_, residual_);
    return team.sum(set_.size(), [&](int64_t begin, int64_t end) {
        double sum = 0;
        for (int64_t s = begin; s < end; ++s) {
            const double weight = set_.weight.empty() ? 1.0 : static_cast<double>(set_.weight[s]);
            sum += weight * static_cast<double>(residual_[s]) * static_cast<double>(residual_[s]);
        }
        return sum;
    });
}

// sweep(group, which, width) for eight columns of the factors after another, the last of them maybe fewer.
template <class Real>
template <class Sweep>
void Trainer<Real>::each_group(Team& team, std::span<Real> factors, int rank, const Sweep& sweep) {
    const int64_t n_features = set_.design.n_features;
    require(rank > 0 && static_cast<int64_t>(factors.size()) == n_features * rank, "factors must be features × rank");
    flips_.settle(team, set_, residual_);
    flips_.forget();
    GroupSweep<Real> group(set_, cross_, residual_);
    const FactorView view = FactorView::of(std::span<const Real>(factors), n_features, rank);
    for (int which = 0; which < view.n_groups(); ++which) {
        group.load(team, view, which);
        const int width = std::min(kLanes, rank - which * kLanes);
        sweep(group, which, width);
        team.run(n_features, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i)
                std::copy_n(group.values(i), width, factors.data() + i * rank + which * kLanes);
        });
    }
}

template <class Real>
void Trainer<Real>::sweep_factors(Team& team, std::span<Real> factors, int rank, std::span<const double> ridge,
                                  std::span<const float> linear, double scale) {
    const int64_t n_features = set_.design.n_features;
    require(ridge.size() == set_.design.fields.size(), "one ridge per field is needed");
    require(linear.empty() || linear.size() == factors.size(), "the linear term must have the factors' shape");
    std::vector<float> padded;
    each_group(team, factors, rank, [&](GroupSweep<Real>& group, int which, int width) {
        RuleInput<Real> rule;
        rule.linear_scale = static_cast<Real>(scale);
        if (!linear.empty()) {
            rule.linear = linear.data() + which * kLanes;
            rule.linear_stride = rank;
            if (width < kLanes) {  // lanes beyond the rank must see zeros, not the next row
                padded.assign(static_cast<size_t>(n_features) * kLanes, 0);
                for (int64_t i = 0; i < n_features; ++i)
                    std::copy_n(linear.data() + i * rank + which * kLanes, width, padded.data() + i * kLanes);
                rule.linear = padded.data();
                rule.linear_stride = kLanes;
            }
        }
        group.sweep(team, rule, Prior::ridge(ridge));
    });
}

template <class Real>
void Trainer<Real>::draw_factors(Team& team, std::span<Real> factors, int rank, std::span<const double> precision,
                                 std::span<const double> mean, Draw draw) {
    const size_t n_fields = set_.design.fields.size();
    require(rank > 0 && precision.size() == n_fields * static_cast<size_t>(rank) && mean.size() == precision.size(),
            "precision and mean must be fields × rank");
    require_prior<Real>(precision, mean, draw);
    std::vector<float> noise(static_cast<size_t>(set_.design.n_features) * kLanes);
    each_group(team, factors, rank, [&](GroupSweep<Real>& group, int which, int width) {
        team.run(static_cast<int64_t>(noise.size()), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            fill_normal(draw.seed, which * static_cast<int64_t>(noise.size()) + begin,
                        std::span(noise).subspan(begin, end - begin));
        });
        RuleInput<Real> rule;
        rule.data_precision = static_cast<Real>(draw.precision);
        rule.noise = noise.data();
        group.sweep(team, rule, {precision.data() + which * kLanes, mean.data() + which * kLanes, rank, 1, width});
    });
}

template <class Real>
int64_t Trainer<Real>::sweep_codes(Team& team, std::span<uint8_t> codes, int bits, std::span<const float> delegate,
                                   double beta, int passes) {
    const int64_t n_features = set_.design.n_features;
    require_bits(bits);
    require(static_cast<int64_t>(codes.size()) == n_features * (bits / 8), "codes must be features × bits / 8 bytes");
    require(static_cast<int64_t>(delegate.size()) == n_features * bits, "the delegate must be features × bits");
    require(beta >= 0 && beta <= kLargestBeta, "beta must be from 0 to 1e12");
    if (FlipDescent<Real>::fits(set_)) return flips_.sweep(team, set_, residual_, codes, bits, delegate, beta, passes);

    GroupSweep<Real> group(set_, cross_, residual_);
    const FactorView view = FactorView::of(codes, {}, n_features, bits);
    int64_t flips = 0;
    for (int which = 0; which < view.n_groups(); ++which) {
        group.load(team, view, which);
        RuleInput<Real> rule;
        rule.rule = Rule::flip;
        rule.passes = passes;
        rule.linear = delegate.data() + which * kLanes;
        rule.linear_stride = bits;
        rule.linear_scale = static_cast<Real>(beta);
        flips += group.sweep(team, rule, {});
        team.run(n_features, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) codes[i * (bits / 8) + which] = group.signs(i);
        });
    }
    return flips;
}

template <class Real>
int64_t Trainer<Real>::sweep_anchored(Team& team, int64_t field, std::span<uint8_t> codes, std::span<const float> gains,
                                      int bits, std::span<float> error, std::span<const float> hessian, double strength,
                                      int passes) {
    const Design<Real>& design = set_.design;
    const int bytes = bits / 8;
    require(cross_, "an anchor needs interactions across blocks");
    require_bits(bits);
    require(static_cast<int64_t>(codes.size()) == design.n_features * bytes &&
                static_cast<int64_t>(gains.size()) == design.n_features,
            "codes must be features × bits / 8 bytes, with one gain each");
    require(field >= 0 && field < static_cast<int64_t>(design.fields.size()), "there is no such field");
    const Field<Real>& of = design.fields[field];
    require(static_cast<int64_t>(error.size()) == design.blocks[of.block].n_rows * bits &&
                static_cast<int>(hessian.size()) == bits * bits,
            "errors must be rows × bits, the Hessian bits × bits");
    require(strength >= 0 && std::isfinite(strength), "the strength must be finite and not negative");
    flips_.settle(team, set_, residual_);
    flips_.forget();
    GroupSweep<Real> group(set_, cross_, residual_);
    const FactorView view = FactorView::of(codes, gains, design.n_features, bits);
    int64_t flips = 0;
    for (int which = 0; which < view.n_groups(); ++which) {
        group.load(team, view, which);
        RuleInput<Real> rule;
        rule.rule = Rule::flip;
        rule.passes = passes;
        flips += group.sweep_anchored(team, field, rule, {bits, strength, hessian.data(), error.data()}, which);
        for (int64_t i = of.first; i < of.first + of.n_columns; ++i)
            if (gains[i] > 0) codes[i * bytes + which] = group.signs(i);  // without a gain there are no signs to tell
    }
    return flips;
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace bitfm
