#include "metrics/auc.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/error.hpp"
#include "base/sizes.hpp"

namespace bitfm {

namespace {

constexpr int64_t kUsersAtOnce = 4;
constexpr size_t kFew = 64;  // relevant items up to which comparing them with all others is faster than sorting

enum class Kind : uint8_t { other, relevant, excluded };

// Twice the number of pairs in the right order, and the ties once more.
template <class Real>
uint64_t half_wins(std::vector<Real>& wanted, std::span<const Real> others) {
    uint64_t wins = 0;
    if (wanted.size() <= kFew) {
        for (const Real best : wanted) {
            uint32_t below = 0;  // fewer than 2^31 items, each counted twice at most
            for (const Real score : others) below += uint32_t(score < best) + uint32_t(score <= best);
            wins += below;
        }
        return wins;
    }
    std::sort(wanted.begin(), wanted.end());
    for (const Real score : others) {
        const auto [lower, upper] = std::equal_range(wanted.begin(), wanted.end(), score);
        wins += static_cast<uint64_t>((wanted.end() - lower) + (wanted.end() - upper));
    }
    return wins;
}

}  // namespace

template <class Real>
void auc(Team& team, std::span<const Real> scores, int64_t n_items, const ItemLists& relevant, const ItemLists& exclude,
         std::span<double> out) {
    const auto n_users = static_cast<int64_t>(out.size());
    const auto width = static_cast<size_t>(n_items);
    require_at_most(width, kMostRows, "a catalogue", "items");
    require(scores.size() == out.size() * width, "one score per user and item is needed");
    require(!relevant.start.empty(), "relevant: starts must have one entry per user and one more");
    relevant.check("relevant", n_users, n_items);
    exclude.check("exclude", n_users, n_items);
    team.run(n_users, kUsersAtOnce, [&](int64_t begin, int64_t end, int) {
        std::vector<Kind> kinds(width);
        std::vector<Real> wanted, others;
        for (int64_t u = begin; u < end; ++u) {
            for (const int32_t item : relevant.of(u)) kinds[static_cast<size_t>(item)] = Kind::relevant;
            for (const int32_t item : exclude.of(u)) kinds[static_cast<size_t>(item)] = Kind::excluded;
            const auto row = scores.subspan(static_cast<size_t>(u) * width, width);
            wanted.clear();
            others.clear();
            bool numbers = true;
            for (size_t i = 0; i < width; ++i) {
                const Real score = row[i];
                numbers &= !std::isnan(score);
                if (kinds[i] != Kind::excluded) (kinds[i] == Kind::other ? others : wanted).push_back(score);
            }
            require(numbers, "scores must not be NaN");
            const double pairs = static_cast<double>(wanted.size()) * static_cast<double>(others.size());
            out[static_cast<size_t>(u)] = pairs > 0 ? static_cast<double>(half_wins<Real>(wanted, others)) / (2 * pairs)
                                                    : std::numeric_limits<double>::quiet_NaN();
            for (const int32_t item : relevant.of(u)) kinds[static_cast<size_t>(item)] = Kind::other;
            for (const int32_t item : exclude.of(u)) kinds[static_cast<size_t>(item)] = Kind::other;
        }
    });
}

template void auc<float>(Team&, std::span<const float>, int64_t, const ItemLists&, const ItemLists&, std::span<double>);
template void auc<double>(Team&, std::span<const double>, int64_t, const ItemLists&, const ItemLists&,
                          std::span<double>);

}  // namespace bitfm
