// What chance does to means over users: other users drawn, and signs flipped. Every draw has random numbers of its
// own, which depend on the seed and the draw alone.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"

namespace bitfm {

// Users × values, finite.
struct UserValues {
    std::span<const double> values;
    int64_t n_users, width;

    void check() const;
};

// Fills `means`, draws × width: each the mean over as many users as there are, drawn with replacement.
void bootstrap_means(Team& team, const UserValues& of, uint64_t seed, std::span<double> means);

// For each column, of n_flips random choices of every user's sign, how many sums lie as far from 0 as the one with
// the signs as they are, or farther.
void count_far_flips(Team& team, const UserValues& of, uint64_t seed, int64_t n_flips, std::span<int64_t> far);

}  // namespace bitfm
