#include "retrieval/rescore.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "retrieval/top.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 16;  // queries

void ask_for(const float* vector, int64_t width) {
    for (int64_t at = 0; at < width; at += 16) __builtin_prefetch(vector + at);
}

}  // namespace

void ItemRows::check() const {
    require(bias.size() == position.size() && vectors.size() == position.size() * static_cast<size_t>(width),
            "one position, one vector and one bias per item are needed");
}

int64_t ItemRows::find(int64_t wanted) const {
    if (position.empty() || wanted < 0 || wanted > INT32_MAX) return -1;
    // Positions mostly are numbers one after another.
    const int64_t guess = wanted - position.front();
    if (guess >= 0 && guess < static_cast<int64_t>(position.size()) && position[static_cast<size_t>(guess)] == wanted)
        return guess;
    const auto at = std::lower_bound(position.begin(), position.end(), wanted);
    return at != position.end() && *at == wanted ? at - position.begin() : -1;
}

void rescore(Team& team, const ItemRows& items, const RealQueries& queries, std::span<const int64_t> candidates,
             const Found& found) {
    const auto n_queries = static_cast<int64_t>(queries.constants.size());
    items.check();
    queries.check(items.width);
    found.check(n_queries);
    require(n_queries == 0 ? candidates.empty() : candidates.size() % static_cast<size_t>(n_queries) == 0,
            "as many candidates per query are needed");
    if (n_queries == 0 || found.n == 0) return;
    const auto each = static_cast<int64_t>(candidates.size()) / n_queries;
    const auto product = isa().kernels->scans.exact_product;
    team.run(n_queries, kGrain, [&](int64_t begin, int64_t end, int) {
        std::vector<int64_t> rows(static_cast<size_t>(each));
        Top best(found.n);
        for (int64_t query = begin; query < end; ++query) {
            for (size_t i = 0; i < rows.size(); ++i) {
                const int64_t position = candidates[static_cast<size_t>(query * each) + i];
                rows[i] = position == -1 ? -1 : items.find(position);
                require(position == -1 || rows[i] >= 0, "candidates must be positions of items, or -1");
                if (rows[i] >= 0) ask_for(items.vectors.data() + rows[i] * items.width, items.width);
            }
            best.clear();
            for (int64_t row : rows) {
                if (row < 0) continue;
                const auto r = static_cast<size_t>(row);
                const double interaction = product(queries.vectors.data() + query * items.width,
                                                   items.vectors.data() + row * items.width, items.width);
                const double score =
                    queries.constants[static_cast<size_t>(query)] + (static_cast<double>(items.bias[r]) + interaction);
                best.push(rank_key(static_cast<float>(score), items.position[r]));
            }
            found.write(query, best.sorted());
        }
    });
}

}  // namespace bitfm
