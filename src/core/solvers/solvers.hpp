// The solvers, each a function over Residuals and a file of its own. Each leaves the residuals up to date with the
// parameters it has changed, so that they can follow one another; sweep_sgd alone does not look at them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "solvers/residuals.hpp"

namespace bitfm {

// weights.cpp: coordinate descent over the weights (ridge: λ per field) and then the bias; returns the new bias.
template <class Real>
double sweep_weights(Team& team, Residuals<Real>& residuals, double bias, std::span<Real> weights,
                     std::span<const double> ridge, bool fit_bias);

// als.cpp: coordinate descent over real factors: min Σ e² + Σ λ |v|² − 2 scale Σ ⟨v, d⟩ (d: rows of `linear`, or none).
template <class Real>
void sweep_factors(Team& team, Residuals<Real>& residuals, Matrix<Real> factors, std::span<const double> ridge,
                   std::optional<Matrix<const float>> linear, double scale);

// gibbs.cpp: draw every weight given all others, then the bias; returns it. The prior's precision and mean are given by
// field. `noise_precision` is that of the targets given the scores, and `seed` says which random numbers.
template <class Real>
double draw_weights(Team& team, Residuals<Real>& residuals, double bias, std::span<Real> weights,
                    std::span<const double> precision, std::span<const double> mean, double noise_precision,
                    uint64_t seed);

// ... and every factor; precision and mean by field and factor.
template <class Real>
void draw_factors(Team& team, Residuals<Real>& residuals, Matrix<Real> factors, Matrix<const double> precision,
                  Matrix<const double> mean, double noise_precision, uint64_t seed);

// discrete.cpp: discrete coordinate descent over codes: min Σ e² − 2 β tr(B'D). Returns the number of flips.
template <class Real>
int64_t sweep_codes(Team& team, Residuals<Real>& residuals, Matrix<uint8_t> codes, Matrix<const float> delegate,
                    double beta, int passes);

// distilled_sweep.cpp: the same over the codes of one field with given gains, its rows also held to a teacher:
// min Σ e² + strength · Σ_u n_u (P_u'HP_u − 2 P_u'c_u), P_u = Σ x g b. error = c − H P (rows × bits) is kept up to
// date.
template <class Real>
int64_t sweep_distilled(Team& team, Residuals<Real>& residuals, int64_t field, Matrix<uint8_t> codes,
                        std::span<const float> gains, Matrix<float> error, Matrix<const float> hessian, double strength,
                        int passes);

// sgd.cpp: one epoch of stochastic gradient descent, visiting the interactions in `order` (numbered as the training set
// keeps them). On one thread: each step follows from the one before. Returns the new bias, and Σ error² on the way.
template <class Real>
std::pair<double, double> sweep_sgd(Team& team, Residuals<Real>& residuals, double bias, std::span<Real> weights,
                                    Matrix<Real> factors, std::span<const double> factor_ridge,
                                    std::span<const double> weight_ridge, double learning_rate,
                                    std::span<const int32_t> order);

}  // namespace bitfm
