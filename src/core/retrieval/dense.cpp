#include "retrieval/dense.hpp"

#include "base/sizes.hpp"
#include "retrieval/top.hpp"

namespace bitfm {

void best_of_scores(Team& team, Matrix<const float> scores, const Exclusions& excluded, const Found& found) {
    constexpr int64_t kGrain = 8;
    require_at_most(static_cast<size_t>(scores.columns), kMostRows, "a catalogue", "items");
    excluded.check(scores.rows);
    found.check(scores.rows);
    if (found.n == 0) return;
    team.run(scores.rows, kGrain, [&](int64_t begin, int64_t end, int) {
        Top best(found.n);
        for (int64_t query = begin; query < end; ++query) {
            best.clear();
            for (int64_t at = 0; at < scores.columns; ++at) {
                const float score = scores.row(query)[at];
                if (score != score) continue;  // not a number
                const RankKey key = rank_key(score, static_cast<int32_t>(at));
                if (key > best.worst() && !excluded.hold(query, static_cast<int32_t>(at))) best.push(key);
            }
            found.write(query, best.sorted());
        }
    });
}

}  // namespace bitfm
