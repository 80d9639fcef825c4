// Scores of a few items per query, by their codes: scale w_j + g_j ⟨b_j, z⟩ + what is added to each.
#pragma once

#include "base/matrix.hpp"
#include "base/parallel.hpp"
#include "implicit/neighbors.hpp"

namespace bitfm {

struct CodedItems {
    Matrix<const uint8_t> codes;
    std::span<const float> gains, weights;
};

struct ListedItems {
    Sets lists;                    // the items of each query
    std::span<const float> added;  // to each of them
};

void score_listed(Team& team, const CodedItems& items, Matrix<const float> queries, std::span<const double> scales,
                  const ListedItems& listed, std::span<float> scores);

}  // namespace bitfm
