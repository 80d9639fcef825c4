#include "metrics/ndcg.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "metrics/discount.hpp"

namespace bitfm {

namespace {

constexpr int64_t kUsersAtOnce = 64;
constexpr double kMostRating = 1000;  // 2^1000 can still be added up

struct Scored {
    double score, gain;
};

// All users' items, those of a user side by side.
struct Groups {
    std::vector<size_t> start;  // one per user and one more
    std::vector<Scored> items;
};

Groups group(const RatedItems& rated) {
    const auto n_users = static_cast<size_t>(rated.n_users);
    Groups groups{std::vector<size_t>(n_users + 1), std::vector<Scored>(rated.users.size())};
    for (const int32_t user : rated.users) ++groups.start[static_cast<size_t>(user) + 1];
    for (size_t u = 0; u < n_users; ++u) groups.start[u + 1] += groups.start[u];
    std::vector<size_t> next(groups.start.begin(), groups.start.end() - 1);
    bool ratings_fit = true, scores_fit = true;  // of what was copied: the caller's arrays may change meanwhile
    for (size_t i = 0; i < rated.users.size(); ++i) {
        const double rating = rated.ratings[i], score = rated.scores[i];
        ratings_fit &= std::isfinite(rating) && rating <= kMostRating;
        scores_fit &= !std::isnan(score);
        groups.items[next[static_cast<size_t>(rated.users[i])]++] = {score, std::exp2(rating) - 1};
    }
    require(ratings_fit, "ratings must be finite, and at most 1000");
    require(scores_fit, "scores must not be NaN");
    return groups;
}

// Of one user: the gain that is reached, and the most that could be, within the first 1, 2, … `depth` ranks.
struct Gains {
    std::vector<double> reached, ideal, sorted;

    void sum(std::span<Scored> items, size_t depth, std::span<const double> discounts) {
        reached.resize(depth);
        ideal.resize(depth);
        std::sort(items.begin(), items.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
        double total = 0;
        for (size_t rank = 0, end = 0; rank < depth;) {
            double gain = 0;
            for (end = rank; end < items.size() && items[end].score == items[rank].score; ++end)
                gain += items[end].gain;
            gain /= static_cast<double>(end - rank);  // ties share what their ranks are worth
            for (; rank < std::min(end, depth); ++rank) reached[rank] = total += gain * discounts[rank];
        }
        sorted.clear();
        for (const Scored& item : items) sorted.push_back(item.gain);
        const auto deep = sorted.begin() + static_cast<std::ptrdiff_t>(depth);
        std::partial_sort(sorted.begin(), deep, sorted.end(), std::greater<>());
        total = 0;
        for (size_t rank = 0; rank < depth; ++rank) ideal[rank] = total += sorted[rank] * discounts[rank];
    }
};

}  // namespace

void RatedItems::check() const {
    require(users.size() == ratings.size() && users.size() == scores.size(),
            "one user, one rating and one score each are needed");
    require(n_users >= 0 && static_cast<size_t>(n_users) <= users.size(), "every user needs an item");
    const auto known = [&](int32_t user) { return user >= 0 && user < n_users; };
    require(std::all_of(users.begin(), users.end(), known), "users must be numbered from 0");
}

void ndcg(Team& team, const RatedItems& rated, std::span<const int64_t> ks, std::span<double> out) {
    rated.check();
    require(!ks.empty() && *std::min_element(ks.begin(), ks.end()) >= 1, "k must be from 1 up");
    require(out.size() == static_cast<size_t>(rated.n_users) * ks.size(), "room for a value per user and k is needed");
    Groups groups = group(rated);
    const auto most = static_cast<size_t>(*std::max_element(ks.begin(), ks.end()));
    size_t longest = 0;
    for (size_t u = 1; u < groups.start.size(); ++u) longest = std::max(longest, groups.start[u] - groups.start[u - 1]);
    const std::vector<double> discounts = rank_discounts(std::min(most, longest));
    team.run(rated.n_users, kUsersAtOnce, [&](int64_t begin, int64_t end, int) {
        Gains gains;
        for (auto u = static_cast<size_t>(begin); u < static_cast<size_t>(end); ++u) {
            const std::span items(groups.items.data() + groups.start[u], groups.start[u + 1] - groups.start[u]);
            double* values = out.data() + u * ks.size();
            bool counts = !items.empty();
            if (counts) gains.sum(items, std::min(most, items.size()), discounts);
            for (size_t j = 0; counts && j < ks.size(); ++j) {
                const size_t last = std::min(static_cast<size_t>(ks[j]), items.size()) - 1;
                values[j] = gains.reached[last] / gains.ideal[last];
                counts = gains.ideal[last] > 0;
            }
            if (!counts) std::fill_n(values, ks.size(), std::numeric_limits<double>::quiet_NaN());
        }
    });
}

}  // namespace bitfm
