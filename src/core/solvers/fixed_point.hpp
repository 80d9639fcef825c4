// Residuals in fixed point, where the model is user code × item code: two blocks of bare ids.
//
// residual = target 2^-fraction − ⟨b, d⟩, with targets as integers and both sides' codes as words, which is what the
// kernel of discrete coordinate descent works on. Flips change the codes alone.
#pragma once

#include <vector>

#include "base/parallel.hpp"
#include "blocks/training_set.hpp"

namespace bitfm {

template <class Real>
struct FixedPoint {
    struct Side {
        std::vector<uint64_t> codes;
        std::vector<int32_t> partner, target;  // by row; the first side's partners are the design's own
    };
    Side sides[2];
    int bits = 0, words = 0, fraction = 0;
    int64_t largest = 0;  // no |residual| exceeds it, in units of 2^-fraction

    // Whether this is such a set.
    static bool fits(const TrainingSet<Real>& set);

    // Take residuals that belong to these codes.
    void take(Team& team, const TrainingSet<Real>& set, std::span<const Real> residual, std::span<const uint8_t> codes,
              int n_bits);

    void write_residuals(Team& team, const TrainingSet<Real>& set, std::span<Real> residual) const;
    void write_codes(std::span<uint8_t> codes) const;

  private:
    int inner(const TrainingSet<Real>& set, int64_t s) const;
};

}  // namespace bitfm
