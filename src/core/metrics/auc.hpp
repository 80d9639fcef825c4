// The share of pairs of a relevant and another item that scores put in the right order.
#pragma once

#include <cstdint>
#include <span>

#include "base/parallel.hpp"
#include "metrics/item_lists.hpp"

namespace bitfm {

// Fills `out`, one per user; a tie is half right. Items to leave out are neither relevant nor other. NaN for a user
// without a relevant or without another item.
template <class Real>
void auc(Team& team, std::span<const Real> scores, int64_t n_items, const ItemLists& relevant, const ItemLists& exclude,
         std::span<double> out);

}  // namespace bitfm
