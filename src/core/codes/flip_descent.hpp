// Discrete coordinate descent where the model is user code × item code: two blocks of bare ids.
#pragma once

#include <vector>

#include "base/parallel.hpp"
#include "blocks/training_set.hpp"

namespace bitfm {

template <class Real>
class FlipDescent {
  public:
    // Whether this is such a set; otherwise sweep() must not be called.
    static bool fits(const TrainingSet<Real>& set);

    // One sweep over both sides, row by row and within a row bit by bit. `residual` must belong to `codes`,
    // and does again after settle().
    int64_t sweep(Team& team, const TrainingSet<Real>& set, std::span<Real> residual, std::span<uint8_t> codes,
                  int bits, std::span<const float> delegate, double beta, int passes);

    // Bring the residuals up to date with the codes, if sweeps have changed them.
    void settle(Team& team, const TrainingSet<Real>& set, std::span<Real> residual);

    // The weights or the bias have changed: targets must be taken from the residuals anew.
    void forget() { ready_ = false; }

    // The residuals have been computed anew, for whatever codes: what the sweeps left is void.
    void drop() { ready_ = stale_ = false; }

  private:
    struct Side {
        std::vector<uint64_t> codes;
        std::vector<int32_t> partner, target;  // by row; the first side's partners are the design's own
    };
    void prepare(Team& team, const TrainingSet<Real>& set, std::span<const Real> residual,
                 std::span<const uint8_t> codes, int bits);
    int inner(const TrainingSet<Real>& set, int64_t s) const;

    Side sides_[2];
    bool ready_ = false, stale_ = false;
    int bits_ = 0, words_ = 0, fraction_ = 0;
    int64_t largest_ = 0;
};

}  // namespace bitfm
