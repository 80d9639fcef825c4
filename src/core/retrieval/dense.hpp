// The best of items all of whose scores are there.
#pragma once

#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "retrieval/queries.hpp"

namespace bitfm {

// `scores` has a row per query and a column per position.
void best_of_scores(Team& team, Matrix<const float> scores, const Exclusions& excluded, const Found& found);

}  // namespace bitfm
