// The state of a fit: residuals kept up to date while weights, factors or codes are swept.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/parallel.hpp"
#include "blocks/training_set.hpp"
#include "codes/factor_view.hpp"
#include "codes/flip_descent.hpp"

namespace bitfm {

// One draw of a parameter vector: the precision τ of the targets given the scores, and which random numbers.
struct Draw {
    double precision;
    uint64_t seed;
};

// Precisions must be positive; neither they nor means may be so large that their squares overflow.
template <class Real>
void require_prior(std::span<const double> precision, std::span<const double> mean, Draw draw);

template <class Real>
class Trainer {
  public:
    Trainer(const Design<Real>& design, std::span<const Real> targets, std::span<const Real> weights, bool cross);

    // Another fit to the same data, which both share; only the residuals are its own.
    Trainer sibling() const { return Trainer(data_, cross_, cancelled_); }

    // Make whatever siblings are doing, in any thread, end with an error, at once and from now on.
    void cancel() { *cancelled_ = true; }
    bool cancelled() const { return *cancelled_; }

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

    // Gibbs sampling: draw every weight given all others, then the bias; returns it. The prior's precision and mean
    // are given by field.
    double draw_weights(Team& team, double bias, std::span<Real> weights, std::span<const double> precision,
                        std::span<const double> mean, Draw draw);

    // ... and every factor; precision and mean by field and factor.
    void draw_factors(Team& team, std::span<Real> factors, int rank, std::span<const double> precision,
                      std::span<const double> mean, Draw draw);

    // Discrete coordinate descent over codes: min Σ e² − 2 β tr(B'D). Returns the number of flips.
    int64_t sweep_codes(Team& team, std::span<uint8_t> codes, int bits, std::span<const float> delegate, double beta,
                        int passes);

    // The same over the codes of one field with given gains, its rows also held to an anchor: min Σ e² + strength · Σ_u
    // n_u (P_u'HP_u − 2 P_u'c_u), P_u = Σ x g b. error = c − H P (rows × bits) is kept up to date.
    int64_t sweep_anchored(Team& team, int64_t field, std::span<uint8_t> codes, std::span<const float> gains, int bits,
                           std::span<float> error, std::span<const float> hessian, double strength, int passes);

    // One epoch of stochastic gradient descent, visiting the interactions in `order` (numbered as the
    // training set keeps them). On one thread: each step follows from the one before. Returns Σ
    // error² on the way.
    double sweep_sgd(Team& team, double& bias, std::span<Real> weights, std::span<Real> factors, int rank,
                     std::span<const double> factor_ridge, std::span<const double> weight_ridge, double learning_rate,
                     std::span<const int32_t> order);

  private:
    Trainer(std::shared_ptr<const TrainingSet<Real>> data, bool cross, std::shared_ptr<std::atomic<bool>> cancelled);
    template <class Update>
    void sweep_block_weights(Team& team, size_t block, std::span<Real> weights, const Update& update);
    double centre(Team& team, double noise);
    template <class Sweep>
    void each_group(Team& team, std::span<Real> factors, int rank, const Sweep& sweep);

    std::shared_ptr<const TrainingSet<Real>> data_;
    const TrainingSet<Real>& set_;
    bool cross_;
    std::shared_ptr<std::atomic<bool>> cancelled_;  // shared with siblings
    std::vector<Real> residual_;
    FlipDescent<Real> flips_;
};

}  // namespace bitfm
