#include "retrieval/queries.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace bitfm {

namespace {

template <class Real>
bool all_finite(std::span<const Real> values) {
    return std::all_of(values.begin(), values.end(), [](Real x) { return std::isfinite(x); });
}

bool list_holds(std::span<const int64_t> start, std::span<const int32_t> position, int64_t query, int32_t wanted) {
    if (start.empty()) return false;
    const auto q = static_cast<size_t>(query);
    return std::binary_search(position.begin() + start[q], position.begin() + start[q + 1], wanted);
}

bool rising_to(std::span<const int64_t> start, int64_t n_queries, size_t n) {
    return static_cast<int64_t>(start.size()) == n_queries + 1 && start.front() == 0 &&
           start.back() == static_cast<int64_t>(n) && std::is_sorted(start.begin(), start.end());
}

}  // namespace

void CodeQueries::check(int64_t width) const {
    require(gains.size() == constants.size() && codes.size() == gains.size() * static_cast<size_t>(width / 8),
            "one code of " + std::to_string(width) + " bits, one gain and one constant per query are needed");
    require(all_finite(gains) && std::all_of(gains.begin(), gains.end(), [](float g) { return g >= 0; }),
            "gains must be finite numbers from 0 up");
    require(all_finite(constants), "constants must be finite numbers");
}

void RealQueries::check(int64_t width) const {
    require(vectors.size() == constants.size() * static_cast<size_t>(width),
            "one vector of " + std::to_string(width) + " numbers and one constant per query are needed");
    require(all_finite(vectors), "vectors must be finite numbers");
    require(all_finite(constants), "constants must be finite numbers");
}

bool Exclusions::hold(int64_t query, int32_t wanted) const {
    return list_holds(start, position, query, wanted);
}

void Exclusions::check(int64_t n_queries) const {
    require(start.empty() || rising_to(start, n_queries, position.size()),
            "exclude: starts must rise from 0 to the number of positions, one per query and one more");
}

bool Scored::hold(int64_t query, int32_t wanted) const {
    return list_holds(start, position, query, wanted);
}

void Scored::check(int64_t n_queries, int64_t n_slots) const {
    if (start.empty()) return;
    require(rising_to(start, n_queries, position.size()),
            "scored: starts must rise from 0 to the number of positions, one per query and one more");
    require(score.size() == position.size() && all_finite(score), "scored: one finite number per position is needed");
    const auto n = static_cast<int64_t>(slot_of.size());
    for (int32_t p : position)
        require(p >= 0 && p < n && slot_of[static_cast<size_t>(p)] < n_slots, "scored: a position is out of range");
}

void Found::check(int64_t n_queries) const {
    require(n >= 0 && static_cast<int64_t>(position.size()) == n_queries * n && score.size() == position.size(),
            "room for n positions and scores per query is needed");
}

void Found::write(int64_t query, std::span<const RankKey> best) const {
    int64_t* positions = position.data() + query * n;
    float* scores = score.data() + query * n;
    for (int64_t i = 0; i < n; ++i) {
        const bool there = i < static_cast<int64_t>(best.size());
        positions[i] = there ? position_of(best[static_cast<size_t>(i)]) : -1;
        scores[i] = there ? score_of(best[static_cast<size_t>(i)]) : -std::numeric_limits<float>::infinity();
    }
}

}  // namespace bitfm
