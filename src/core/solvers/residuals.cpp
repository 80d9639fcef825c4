#include "solvers/residuals.hpp"

#include <algorithm>
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

template class Residuals<float>;
template class Residuals<double>;

}  // namespace bitfm
