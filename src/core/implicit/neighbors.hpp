// A short list of neighbours per item: what the items in a user's history add to its score.
//
// For item j, a ridge regression over all users of what the vectors leave over of its events, y − β ŷ, on whether the
// user has each of some candidates, those that explain most by themselves; pairs without an event weigh `unobserved`.
// An event's own prediction is the one that its user's vector makes without that event. The candidates are cut, by
// halves, to the few with the largest effects, all above 0.
#pragma once

#include <cstdint>
#include <span>

#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "implicit/rows.hpp"

namespace bitfm {

// Who has what: the members of sets, one set after another.
struct Sets {
    std::span<const int64_t> start;
    std::span<const int32_t> member;

    int64_t count() const { return static_cast<int64_t>(start.size()) - 1; }
    std::span<const int32_t> of(int64_t i) const {
        return member.subspan(static_cast<size_t>(start[i]), static_cast<size_t>(start[i + 1] - start[i]));
    }
    void check(int64_t n, int64_t n_members) const;
};

struct NeighborSearch {
    EventRows events;                        // of items
    std::span<const float> held_out, plain;  // ŷ of each event, without it and with it
    Sets histories, holders;                 // the items of users, and the users of items
    Matrix<const float> items;               // vectors
    Matrix<const float> sums;                // of the vectors of each item's holders
    float unobserved, ridge, beta;
    int64_t candidates;
};

// `neighbor` and `value`: items × m, the largest first; -1 where there are no more.
void find_neighbors(Team& team, const NeighborSearch& search, Matrix<int32_t> neighbor, Matrix<float> value);

}  // namespace bitfm
