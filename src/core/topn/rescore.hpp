// The exact scores of candidates, which another search has found.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"
#include "topn/queries.hpp"

namespace bitfm {

// out[q][i] = the score of item candidate[q][i] for query q, as the search of a catalogue of vectors has it; -inf for
// -1.
void rescore(Team& team, std::span<const float> vectors, std::span<const float> biases, int64_t width,
             const RealQueries& queries, std::span<const int64_t> candidates, std::span<float> out);

}  // namespace bitfm
