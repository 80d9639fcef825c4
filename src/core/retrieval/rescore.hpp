// The best of some candidates, which another search has found, by their exact scores.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"
#include "retrieval/queries.hpp"

namespace bitfm {

struct ItemRows {
    int64_t width;
    std::span<const int32_t> position;  // rising
    std::span<const float> bias;
    std::span<const float> vectors;

    void check() const;
    // The row of a position, or -1.
    int64_t find(int64_t wanted) const;
};

// `candidates` has a row of positions for each query, -1 for none. Scores are as the search of a catalogue of vectors
// has them.
void rescore(Team& team, const ItemRows& items, const RealQueries& queries, std::span<const int64_t> candidates,
             const Found& found);

}  // namespace bitfm
