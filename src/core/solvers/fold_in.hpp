// Ids that come after the fit: real weights and vectors by least squares, and the codes next to vectors.
#pragma once

#include <span>

#include "base/parallel.hpp"

namespace bitfm {

// The ratings of some ids, and what the rows on the other side amount to.
struct RatingsOfIds {
    int bits;
    std::span<const int64_t> start;  // ids + 1: where each id's ratings are
    std::span<const int32_t> row;    // of the other side, one per rating
    std::span<const double> value;
    std::span<const double> before;        // what the value was when the id was last solved for; NaN: it is fresh
    std::span<const double> constant;      // of the rows
    std::span<const float> vector;         // rows × bits
    std::span<const double> own_constant;  // of the ids, with what they have by now
    std::span<const float> own_vector;     // ids × bits
};

// Variances of weights and of vectors' elements before the ratings are known, and of the noise.
struct IdPrior {
    double noise, weight, factor;
};

// Writes for each id the weight and the vector to add to what it has, ids × (1 + bits).
void solve_ids(Team& team, const RatingsOfIds& ratings, const IdPrior& prior, std::span<double> solved);

// Writes for each vector the code and the gain that say the same, in the eyes of rows with this mean of q qᵀ.
void nearest_codes(Team& team, std::span<const float> vectors, std::span<const float> hessian, int bits, int passes,
                   int rounds, std::span<uint8_t> codes, std::span<float> gains);

}  // namespace bitfm
