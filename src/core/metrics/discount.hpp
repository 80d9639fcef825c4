// What a rank is worth in NDCG.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace bitfm {

// 1 / log2(rank + 1) of the ranks 1, 2, … n.
inline std::vector<double> rank_discounts(size_t n) {
    std::vector<double> discounts(n);
    for (size_t i = 0; i < n; ++i) discounts[i] = 1 / std::log2(static_cast<double>(i) + 2);
    return discounts;
}

}  // namespace bitfm
