// The state of a fit: residuals kept up to date while weights, factors or codes are swept.
#pragma once

#include <vector>

#include "base/parallel.hpp"
#include "blocks/training_set.hpp"
#include "codes/factor_view.hpp"
#include "codes/flip_descent.hpp"

namespace bitfm {

template <class Real>
class Trainer {
  public:
    Trainer(const Design<Real>& design, std::span<const Real> targets, std::span<const Real> weights, bool cross);

    // Start from these parameters: residual = target − score.
    void reset(Team& team, double bias, std::span<const Real> weights, const FactorView& factors);

    // Σ weight residual².
    double loss(Team& team);

    // Coordinate descent over the weights (ridge: λ per field) and then the bias; returns the new bias.
    double sweep_weights(Team& team, double bias, std::span<Real> weights, std::span<const double> ridge,
                         bool fit_bias);

    // Coordinate descent over real factors: min Σ e² + Σ λ |v|² − 2 scale Σ ⟨v, d⟩ (d: rows of `linear`, or
    // none).
    void sweep_factors(Team& team, std::span<Real> factors, int rank, std::span<const double> ridge,
                       std::span<const float> linear, double scale);

    // Discrete coordinate descent over codes: min Σ e² − 2 β tr(B'D). Returns the number of flips.
    int64_t sweep_codes(Team& team, std::span<uint8_t> codes, int bits, std::span<const float> delegate, double beta,
                        int passes);

    // One epoch of stochastic gradient descent, visiting the interactions in `order` (numbered as the
    // training set keeps them). On one thread: each step follows from the one before. Returns Σ
    // error² on the way.
    double sweep_sgd(Team& team, double& bias, std::span<Real> weights, std::span<Real> factors, int rank,
                     std::span<const double> factor_ridge, std::span<const double> weight_ridge, double learning_rate,
                     std::span<const int32_t> order);

  private:
    void sweep_block_weights(Team& team, size_t block, std::span<Real> weights, std::span<const double> ridge);
    double centre(Team& team);

    TrainingSet<Real> set_;
    bool cross_;
    std::vector<Real> residual_;
    FlipDescent<Real> flips_;
};

}  // namespace bitfm
