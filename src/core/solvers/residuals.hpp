// The residuals of a fit, target − score of every interaction, and the data they belong to.
//
// Solvers are functions over this: they read() the residuals or write() them, and leave them up to date with the
// parameters they change. There are two forms of them, real numbers and FixedPoint; which of the two is up to date is
// known here alone, and the other follows when it is asked for.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "base/parallel.hpp"
#include "blocks/training_set.hpp"
#include "codes/factor_view.hpp"
#include "solvers/fixed_point.hpp"

namespace bitfm {

constexpr int64_t kRowGrain = 256, kInteractionGrain = 16384;  // what a thread of a solver takes at a time

template <class Real>
class Residuals {
  public:
    Residuals(const Design<Real>& design, std::span<const Real> targets, std::span<const Real> weights, bool cross);

    // Of another fit to the same data, which both share.
    Residuals sibling() const { return Residuals(data_, cross_, cancelled_); }

    // Make whatever siblings are doing, in any thread, end with an error, at once and from now on.
    void cancel() { *cancelled_ = true; }
    bool cancelled() const { return *cancelled_; }

    const TrainingSet<Real>& set() const { return *data_; }
    const Design<Real>& design() const { return data_->design; }
    bool cross() const { return cross_; }  // no pairs within a block
    std::span<const Real> target() const { return working_ ? working_->target : data_->target; }
    std::span<const Real> weight() const { return working_ ? working_->weight : data_->weight; }  // empty: all 1
    const Real* weight_or_null() const { return weight().empty() ? nullptr : weight().data(); }

    std::span<const Real> read(Team& team);
    std::span<Real> write(Team& team);

    // Start from these parameters.
    void reset(Team& team, double bias, std::span<const Real> weights, const FactorView& factors);

    // Σ weight residual².
    double loss(Team& team);

    // The scores of the interactions, in the caller's order.
    void write_scores(Team& team, std::span<Real> out);

    // Any loss, as solvers see it: near the present scores it is Σ weight curvature (residual − δ)² where they move by
    // δ. Until the next call, target() is score + residual and weight() the product; both come in the caller's order.
    void set_working(Team& team, std::span<const Real> residual, std::span<const Real> curvature);

    // Whether the residuals of codes can be kept in fixed point, which has no place for weights.
    bool fit_fixed_point() const { return weight().empty() && FixedPoint<Real>::fits(*data_); }
    // sweep(fixed) changes the codes in fixed point, where they are the caller's; returns how many bits it has changed.
    template <class Sweep>
    int64_t in_fixed_point(Team& team, std::span<uint8_t> codes, int bits, const Sweep& sweep) {
        if (!fixed_current_ || bits != fixed_.bits) {
            const auto residual = read(team);
            fixed_current_ = false;
            fixed_.take(team, *data_, residual, codes, bits);
            fixed_current_ = true;
        }
        int64_t changed;
        try {
            changed = sweep(fixed_);
        } catch (...) {  // interrupted half-way: the codes stand as they are by now
            reals_current_ = false;
            fixed_.write_codes(codes);
            throw;
        }
        if (changed) reals_current_ = false;
        fixed_.write_codes(codes);
        return changed;
    }

  private:
    Residuals(std::shared_ptr<const TrainingSet<Real>> data, bool cross, std::shared_ptr<std::atomic<bool>> cancelled);

    struct Working {
        std::vector<Real> target, weight;
    };

    std::shared_ptr<const TrainingSet<Real>> data_;
    std::optional<Working> working_;  // none: the data's own, for squared error
    bool cross_;
    std::shared_ptr<std::atomic<bool>> cancelled_;  // shared with siblings
    std::vector<Real> reals_;
    FixedPoint<Real> fixed_;
    bool reals_current_ = true, fixed_current_ = false;
};

}  // namespace bitfm
