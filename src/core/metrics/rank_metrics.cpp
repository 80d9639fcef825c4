#include "metrics/rank_metrics.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "metrics/discount.hpp"

namespace bitfm {

namespace {

constexpr int64_t kUsersAtOnce = 64;

// What a user's first ranks amount to.
struct Tally {
    double hits = 0, precisions = 0, gain = 0;
    size_t first = 0;  // rank of the first hit, from 1 up; 0: none yet
};

// Whether item is among the relevant ones; refuses it if it was there before.
bool is_hit(int64_t item, int64_t user, std::span<const int32_t> relevant, std::vector<bool>& met) {
    const auto at = std::lower_bound(relevant.begin(), relevant.end(), item);
    if (at == relevant.end() || *at != item) return false;
    const auto place = static_cast<size_t>(at - relevant.begin());
    if (met[place])
        throw BadInput("found: row " + std::to_string(user) + " has item " + std::to_string(item) + " twice");
    return met[place] = true;
}

}  // namespace

void rank_metrics(Team& team, const FoundItems& found, const ItemLists& relevant, int64_t n_items,
                  std::span<const int64_t> ks, std::span<double> out) {
    require(!relevant.start.empty(), "relevant: starts must have one entry per user and one more");
    relevant.check("relevant", found.n_users, n_items);
    require(found.items.size() == static_cast<size_t>(found.n_users) * static_cast<size_t>(found.n),
            "found: a row of n items a user is needed");
    require(!ks.empty() && *std::min_element(ks.begin(), ks.end()) >= 1 &&
                *std::max_element(ks.begin(), ks.end()) <= found.n,
            "k must be from 1 up to the number of items found");
    const size_t plane = static_cast<size_t>(found.n_users) * ks.size();
    require(out.size() == kRankMetrics * plane, "room for a value a metric, user and k is needed");
    const auto most = static_cast<size_t>(*std::max_element(ks.begin(), ks.end()));
    const std::vector<double> discounts = rank_discounts(most);
    std::vector<double> ideal(most + 1);  // of that many relevant items
    for (size_t i = 0; i < most; ++i) ideal[i + 1] = ideal[i] + discounts[i];

    team.run(found.n_users, kUsersAtOnce, [&](int64_t begin, int64_t end, int) {
        std::vector<Tally> after(most + 1);  // that many ranks
        std::vector<bool> met;
        for (int64_t u = begin; u < end; ++u) {
            const int64_t* items = found.items.data() + u * found.n;
            const auto wanted = relevant.of(u);
            met.assign(wanted.size(), false);
            for (size_t rank = 0; rank < most; ++rank) {
                const int64_t item = items[rank];
                if (item < -1 || item >= n_items)
                    throw BadInput("found: items must be from 0 to " + std::to_string(n_items - 1) + ", or -1, got " +
                                   std::to_string(item));
                Tally tally = after[rank];
                if (is_hit(item, u, wanted, met)) {
                    tally.hits += 1;
                    tally.precisions += tally.hits / static_cast<double>(rank + 1);
                    tally.gain += discounts[rank];
                    if (tally.first == 0) tally.first = rank + 1;
                }
                after[rank + 1] = tally;
            }
            for (size_t j = 0; j < ks.size(); ++j) {
                const auto k = static_cast<size_t>(ks[j]), reachable = std::min(k, wanted.size());
                const Tally& tally = after[k];
                double values[kRankMetrics] = {
                    tally.hits / static_cast<double>(k),
                    tally.hits / static_cast<double>(wanted.size()),
                    tally.precisions / static_cast<double>(reachable),
                    tally.first ? 1 / static_cast<double>(tally.first) : 0,
                    tally.first ? 1.0 : 0.0,
                    tally.gain / ideal[reachable],
                };
                if (wanted.empty()) std::fill_n(values, kRankMetrics, std::numeric_limits<double>::quiet_NaN());
                for (size_t m = 0; m < kRankMetrics; ++m)
                    out[m * plane + static_cast<size_t>(u) * ks.size() + j] = values[m];
            }
        }
    });
}

}  // namespace bitfm
