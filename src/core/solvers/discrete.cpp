// Discrete coordinate descent over codes: bit by bit in fixed point where the model is user code × item code, eight
// columns after another elsewhere.
#include <algorithm>
#include <atomic>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "codes/bits.hpp"
#include "solvers/group_sweep.hpp"
#include "solvers/solvers.hpp"

namespace bitfm {

namespace {

constexpr int64_t kFlipGrain = 64;
constexpr double kLargestBeta = 1e12;

// One sweep over both sides, row by row and within a row bit by bit.
template <class Real>
int64_t sweep_flips(Team& team, const TrainingSet<Real>& set, FixedPoint<Real>& fixed, Matrix<const float> delegate,
                    double beta, int passes) {
    std::atomic<int64_t> flips{0};
    for (int side = 0; side < 2; ++side) {
        const auto& start = set.blocks[side].start;
        int64_t longest = 0;
        for (size_t r = 0; r + 1 < start.size(); ++r) longest = std::max(longest, start[r + 1] - start[r]);
        const int64_t before = side == 0 ? 0 : set.design.blocks[0].n_rows;
        const bool in_order = set.blocks[side].order.empty();
        const FlipInput in{.start = start.data(),
                           .partner = in_order ? set.blocks[1 - side].row_of.data() : fixed.sides[side].partner.data(),
                           .target = in_order ? fixed.sides[0].target.data() : fixed.sides[side].target.data(),
                           .partner_codes = fixed.sides[1 - side].codes.data(),
                           .codes = fixed.sides[side].codes.data(),
                           .words = fixed.words,
                           .bits = fixed.bits,
                           .fraction = fixed.fraction,
                           .largest = fixed.largest,
                           .delegate = delegate.row(before),
                           .beta = beta,
                           .passes = passes};
        const auto scratch_size = static_cast<size_t>(longest + 1) * (72 * static_cast<size_t>(fixed.words) + 2) + 64;
        std::vector<std::vector<uint64_t>> scratch(static_cast<size_t>(team.size()));
        team.run(set.design.blocks[side].n_rows, kFlipGrain, [&](int64_t begin, int64_t end, int thread) {
            auto& own = scratch[thread];
            if (own.empty()) own.resize(scratch_size / 8 + 1);
            auto* bytes = reinterpret_cast<unsigned char*>(own.data());
            flips += isa().kernels->codes.update_flip_rows(in, bytes, begin, end);
        });
    }
    return flips;
}

}  // namespace

template <class Real>
int64_t sweep_codes(Team& team, Residuals<Real>& residuals, Matrix<uint8_t> codes, Matrix<const float> delegate,
                    double beta, int passes) {
    const int64_t n_features = residuals.design().n_features;
    const int bits = bits_of_bytes(static_cast<size_t>(codes.columns));
    require(codes.rows == n_features, "codes must be features × bits / 8 bytes");
    require(delegate.has_shape(n_features, bits), "the delegate must be features × bits");
    require(beta >= 0 && beta <= kLargestBeta, "beta must be from 0 to 1e12");
    if (residuals.fit_fixed_point())
        return residuals.in_fixed_point(team, codes.all(), bits, [&](FixedPoint<Real>& fixed) {
            return sweep_flips(team, residuals.set(), fixed, delegate, beta, passes);
        });

    GroupSweep<Real> group(team, residuals);
    const FactorView view = FactorView::of(codes.all(), {}, n_features, bits);
    int64_t flips = 0;
    for (int which = 0; which < view.n_groups(); ++which) {
        group.load(team, view, which);
        RuleInput<Real> rule;
        rule.rule = Rule::flip;
        rule.passes = passes;
        rule.linear = delegate.data + which * kLanes;
        rule.linear_stride = bits;
        rule.linear_scale = static_cast<Real>(beta);
        flips += group.sweep(team, rule, {});
        team.run(n_features, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) codes.row(i)[which] = group.signs(i);
        });
    }
    return flips;
}

template int64_t sweep_codes(Team&, Residuals<float>&, Matrix<uint8_t>, Matrix<const float>, double, int);
template int64_t sweep_codes(Team&, Residuals<double>&, Matrix<uint8_t>, Matrix<const float>, double, int);

}  // namespace bitfm
