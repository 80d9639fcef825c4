// NDCG of each user's rated items, with gain 2^rating − 1 and ties averaged.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"

namespace bitfm {

struct RatedItems {
    std::span<const int32_t> users;  // from 0 to n_users − 1, in any order
    std::span<const double> ratings;
    std::span<const double> scores;
    int64_t n_users;

    void check() const;
};

// Fills `out`, users × ks, with NDCG@k; with NaN for a user whose ideal gain is not positive at every k.
void ndcg(Team& team, const RatedItems& rated, std::span<const int64_t> ks, std::span<double> out);

}  // namespace bitfm
