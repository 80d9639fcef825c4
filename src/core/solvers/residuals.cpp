#include "solvers/residuals.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "sweep/score.hpp"

namespace bitfm {

template <class Real>
Residuals<Real>::Residuals(const Design<Real>& design, std::span<const Real> targets, std::span<const Real> weights,
                           bool cross)
    : Residuals(std::make_shared<const TrainingSet<Real>>(design, targets, weights), cross,
                std::make_shared<std::atomic<bool>>(false)) {}

template <class Real>
Residuals<Real>::Residuals(std::shared_ptr<const TrainingSet<Real>> data, bool cross,
                           std::shared_ptr<std::atomic<bool>> cancelled)
    : data_(std::move(data)), cross_(cross), cancelled_(std::move(cancelled)), reals_(data_->target) {}

template <class Real>
std::span<const Real> Residuals<Real>::read(Team& team) {
    if (!reals_current_) fixed_.write_residuals(team, *data_, reals_);
    reals_current_ = true;
    return reals_;
}

template <class Real>
std::span<Real> Residuals<Real>::write(Team& team) {
    read(team);
    fixed_current_ = false;
    return reals_;
}

template <class Real>
void Residuals<Real>::reset(Team& team, double bias, std::span<const Real> weights, const FactorView& factors) {
    const int64_t n_features = design().n_features;
    require(static_cast<int64_t>(weights.size()) == n_features && factors.n_features == n_features,
            "weights and factors must have a row for each of the " + std::to_string(n_features) + " features");
    reals_current_ = true;
    fixed_current_ = false;
    std::fill(reals_.begin(), reals_.end(), static_cast<Real>(bias));
    std::vector<const int32_t*> row_of;
    for (const auto& block : data_->blocks) row_of.push_back(block.row_of.data());
    add_scores<Real, Real>(team, design(), row_of, weights, factors, cross_, reals_);
    const auto targets = target();
    team.run(data_->size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) reals_[s] = targets[s] - reals_[s];
    });
}

template <class Real>
double Residuals<Real>::loss(Team& team) {
    const auto residual = read(team), weights = weight();
    return team.sum(data_->size(), [&](int64_t begin, int64_t end) {
        double sum = 0;
        for (int64_t s = begin; s < end; ++s) {
            const double weight = weights.empty() ? 1.0 : static_cast<double>(weights[s]);
            sum += weight * static_cast<double>(residual[s]) * static_cast<double>(residual[s]);
        }
        return sum;
    });
}

template <class Real>
void Residuals<Real>::write_scores(Team& team, std::span<Real> out) {
    require(static_cast<int64_t>(out.size()) == data_->size(), "room for one score per interaction is needed");
    const auto residual = read(team), targets = target();
    team.run(data_->size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) out[data_->source_of(s)] = targets[s] - residual[s];
    });
}

template <class Real>
void Residuals<Real>::set_working(Team& team, std::span<const Real> residual, std::span<const Real> curvature) {
    const auto n = static_cast<size_t>(data_->size());
    require(residual.size() == n && curvature.size() == n,
            "one residual and one curvature per interaction are needed, got " + std::to_string(residual.size()) +
                " and " + std::to_string(curvature.size()) + " for " + std::to_string(n) + " interactions");
    require(std::all_of(residual.begin(), residual.end(), [](Real e) { return std::isfinite(e); }),
            "residuals must be finite");
    require(std::all_of(curvature.begin(), curvature.end(), [](Real h) { return std::isfinite(h) && h >= 0; }),
            "curvatures must be finite and not negative");
    const std::span<Real> reals = write(team);
    const auto before = target();
    // Squared error needs no weights, and is as fast as without.
    const bool weighted =
        !data_->weight.empty() || !std::all_of(curvature.begin(), curvature.end(), [](Real h) { return h == 1; });
    Working working{std::vector<Real>(n), std::vector<Real>(weighted ? n : 0)};
    team.run(data_->size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) {
            const int64_t from = data_->source_of(s);
            working.target[s] = before[s] - reals[s] + residual[from];
            if (weighted)
                working.weight[s] = data_->weight.empty() ? curvature[from] : data_->weight[s] * curvature[from];
        }
    });
    for (int64_t s = 0; s < data_->size(); ++s) reals[s] = residual[data_->source_of(s)];
    working_ = std::move(working);
}

template class Residuals<float>;
template class Residuals<double>;

}  // namespace bitfm
