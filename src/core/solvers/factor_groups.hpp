// Real factors, eight columns after another.
#pragma once

#include <algorithm>

#include "base/error.hpp"
#include "base/matrix.hpp"
#include "solvers/group_sweep.hpp"

namespace bitfm {

template <class Real>
int rank_of(Matrix<Real> factors, int64_t n_features) {
    require(factors.columns <= 1 << 20, "the rank must be at most 1048576");
    require(factors.columns > 0 && factors.rows == n_features, "factors must be features × rank");
    return static_cast<int>(factors.columns);
}

// sweep(group, which, width) for eight columns of the factors after another, the last of them maybe fewer.
template <class Real, class Sweep>
void each_group(Team& team, Residuals<Real>& residuals, Matrix<Real> factors, const Sweep& sweep) {
    const int64_t n_features = residuals.design().n_features;
    const int rank = rank_of(factors, n_features);
    GroupSweep<Real> group(team, residuals);
    const FactorView view = FactorView::of(std::span<const Real>(factors.all()), n_features, rank);
    for (int which = 0; which < view.n_groups(); ++which) {
        group.load(team, view, which);
        const int width = std::min(kLanes, rank - which * kLanes);
        sweep(group, which, width);
        team.run(n_features, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) std::copy_n(group.values(i), width, factors.row(i) + which * kLanes);
        });
    }
}

}  // namespace bitfm
