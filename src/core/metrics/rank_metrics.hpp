// How many of the items that a search found are relevant, and how far up they stand.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"
#include "metrics/item_lists.hpp"

namespace bitfm {

struct FoundItems {
    std::span<const int64_t> items;  // users × n, best first; -1 where there are no more
    int64_t n_users, n;
};

inline constexpr int kRankMetrics = 6;  // precision, recall, average precision, reciprocal rank, hit, NDCG

// Fills `out`, metrics × users × ks; with NaN for a user without relevant items.
void rank_metrics(Team& team, const FoundItems& found, const ItemLists& relevant, int64_t n_items,
                  std::span<const int64_t> ks, std::span<double> out);

}  // namespace bitfm
