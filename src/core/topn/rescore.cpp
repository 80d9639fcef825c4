#include "topn/rescore.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "base/isa.hpp"

namespace bitfm {

void rescore(Team& team, std::span<const float> vectors, std::span<const float> biases, int64_t width,
             const RealQueries& queries, std::span<const int64_t> candidates, std::span<float> out) {
    const auto n_items = static_cast<int64_t>(biases.size()),
               n_queries = static_cast<int64_t>(queries.constants.size());
    queries.check(width);
    require(static_cast<int64_t>(vectors.size()) == n_items * width, "one vector and one bias an item are needed");
    require(out.size() == candidates.size() &&
                (n_queries == 0 ? candidates.empty() : candidates.size() % static_cast<size_t>(n_queries) == 0),
            "as many candidates a query, and room for their scores, are needed");
    require(std::all_of(candidates.begin(), candidates.end(), [&](int64_t i) { return i >= -1 && i < n_items; }),
            "candidates must be from -1 to " + std::to_string(n_items - 1));
    if (candidates.empty()) return;
    const auto each = static_cast<int64_t>(candidates.size()) / n_queries;
    const auto product = isa().kernels->exact_product;
    team.run(n_queries, 16, [&](int64_t begin, int64_t end, int) {
        for (int64_t at = begin * each; at < end * each; ++at) {
            const int64_t query = at / each, item = candidates[static_cast<size_t>(at)];
            if (item < 0) {
                out[static_cast<size_t>(at)] = -std::numeric_limits<float>::infinity();
                continue;
            }
            const double interaction =
                product(queries.vectors.data() + query * width, vectors.data() + item * width, width);
            out[static_cast<size_t>(at)] =
                static_cast<float>(queries.constants[static_cast<size_t>(query)] +
                                   (static_cast<double>(biases[static_cast<size_t>(item)]) + interaction));
        }
    });
}

}  // namespace bitfm
