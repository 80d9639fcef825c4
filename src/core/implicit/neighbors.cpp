#include "implicit/neighbors.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "base/sizes.hpp"
#include "linalg/gram.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 4;
constexpr int kRounds = 6, kHalvings = 4;

class Regression {
  public:
    Regression(const NeighborSearch& search, int64_t most)
        : s_(search),
          most_(most),
          kernels_(isa().kernels->implicit),
          together_(static_cast<size_t>(search.items.rows), 0.0f),
          lacking_(static_cast<size_t>(search.items.rows), 0.0f),
          place_(static_cast<size_t>(search.items.rows), -1),
          local_(static_cast<size_t>(search.histories.count()), -1) {}

    void run(int64_t item, int32_t* neighbor, float* value) {
        std::fill(neighbor, neighbor + most_, -1);
        std::fill(value, value + most_, 0.0f);
        choose_candidates(item);
        if (chosen_.empty() || most_ == 0) return;
        make_equations(item);
        std::vector<int32_t>& keep = keep_;
        keep.resize(chosen_.size());
        std::iota(keep.begin(), keep.end(), 0);
        for (int round = 0;; ++round) {
            if (!solve(keep)) return;
            const bool few = static_cast<int64_t>(keep.size()) <= most_;
            const bool positive = std::all_of(solved_.begin(), solved_.end(), [](float x) { return x > 0; });
            if (keep.empty() || (few && positive) || round == kRounds) break;
            prune(keep, round < kHalvings ? std::max<int64_t>(most_, static_cast<int64_t>(keep.size()) / 2) : most_);
        }
        order_.resize(keep.size());
        std::iota(order_.begin(), order_.end(), 0);
        std::stable_sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) { return solved_[a] > solved_[b]; });
        for (size_t i = 0; i < std::min(order_.size(), static_cast<size_t>(most_)); ++i) {
            if (!(solved_[order_[i]] > 0)) break;
            neighbor[i] = chosen_[keep[order_[i]]];
            value[i] = solved_[order_[i]];
        }
    }

  private:
    // Not a number, such as 0 × ∞, comes last: a sort of what has no order may leave its array.
    static float ordered(float gain) { return gain == gain ? gain : 0; }

    int64_t first(int64_t item) const { return s_.events.start[item]; }
    int64_t last(int64_t item) const { return s_.events.start[item + 1]; }

    // Of the items that this one's users have, those that alone would explain most of what is lacking.
    void choose_candidates(int64_t item) {
        met_.clear();
        for (int64_t s = first(item); s < last(item); ++s) {
            const float e = s_.events.weight(s), a = s_.unobserved, y = s_.events.target(s);
            const float lacks = e * (y - s_.beta * s_.held_out[s]) + a * s_.beta * s_.plain[s];
            for (int32_t other : s_.histories.of(s_.events.index[s])) {
                if (other == item) continue;
                if (together_[other] == 0) met_.push_back(other);
                together_[other] += e;
                lacking_[other] += lacks;
            }
        }
        candidates_.clear();
        for (int32_t other : met_) {
            const float everywhere = kernels_.dot(s_.sums.row(other), s_.items.row(item), s_.items.columns);
            const float pull = lacking_[other] - s_.unobserved * s_.beta * everywhere;
            const auto n = static_cast<float>(s_.holders.of(other).size());
            const float size = s_.unobserved * n + (1 - s_.unobserved) * together_[other] + s_.ridge;
            if (pull > 0 && size > 0) candidates_.push_back({ordered(pull * pull / size), other, pull});
            together_[other] = lacking_[other] = 0;
        }
        const size_t n = std::min(candidates_.size(), static_cast<size_t>(s_.candidates));
        std::partial_sort(candidates_.begin(), candidates_.begin() + static_cast<int64_t>(n), candidates_.end(),
                          [](const Candidate& a, const Candidate& b) {
                              return a.gain != b.gain ? a.gain > b.gain : a.item < b.item;
                          });
        chosen_.clear(), pull_.clear();
        for (size_t i = 0; i < n; ++i) {
            chosen_.push_back(candidates_[i].item);
            pull_.push_back(candidates_[i].pull);
        }
    }

    // a Σ x xᵀ over all users + Σ (e − a) x xᵀ over the item's.
    void make_equations(int64_t item) {
        const auto n = static_cast<int64_t>(chosen_.size());
        users_.clear();
        for (int64_t t = 0; t < n; ++t)
            for (int32_t user : s_.holders.of(chosen_[t]))
                if (local_[user] < 0) {
                    local_[user] = static_cast<int32_t>(users_.size());
                    users_.push_back(user);
                }
        const int64_t words = (static_cast<int64_t>(users_.size()) + 63) / 64;
        bits_.assign(static_cast<size_t>(n * words), 0);
        for (int64_t t = 0; t < n; ++t)
            for (int32_t user : s_.holders.of(chosen_[t])) {
                const auto at = static_cast<uint32_t>(local_[user]);
                bits_[t * words + (at >> 6)] |= uint64_t(1) << (at & 63);
            }
        for (int32_t user : users_) local_[user] = -1;
        matrix_.assign(static_cast<size_t>(n * n), 0.0f);
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = i; j < n; ++j)
                matrix_[i * n + j] = s_.unobserved * static_cast<float>(kernels_.count_common(
                                                         bits_.data() + i * words, bits_.data() + j * words, words));
        for (int64_t t = 0; t < n; ++t) place_[chosen_[t]] = static_cast<int32_t>(t);
        for (int64_t s = first(item); s < last(item); ++s) {
            here_.clear();
            for (int32_t other : s_.histories.of(s_.events.index[s]))
                if (place_[other] >= 0) here_.push_back(place_[other]);
            const float weight = s_.events.weight(s) - s_.unobserved;
            for (int32_t i : here_)
                for (int32_t j : here_)
                    if (i <= j) matrix_[i * n + j] += weight;
        }
        for (int32_t other : chosen_) place_[other] = -1;
        for (int64_t i = 0; i < n; ++i)
            for (int64_t j = 0; j < i; ++j) matrix_[i * n + j] = matrix_[j * n + i];
    }

    bool solve(const std::vector<int32_t>& keep) {
        const auto n = static_cast<int64_t>(keep.size()), all = static_cast<int64_t>(chosen_.size());
        part_.resize(static_cast<size_t>(n * n)), solved_.resize(static_cast<size_t>(n));
        for (int64_t i = 0; i < n; ++i) {
            solved_[i] = pull_[keep[i]];
            for (int64_t j = i; j < n; ++j)  // the upper triangle of any order of the candidates
                part_[i * n + j] = matrix_[keep[i] * all + keep[j]] + (i == j ? s_.ridge : 0.0f);
        }
        if (!work_.factor(part_.data(), n)) return false;
        work_.solve(part_.data(), n, solved_.data());
        return true;
    }

    // Keeps so many at most: of those above 0, the ones whose effects vary most.
    void prune(std::vector<int32_t>& keep, int64_t most) {
        const auto all = static_cast<int64_t>(chosen_.size());
        ranked_.clear();
        for (size_t i = 0; i < keep.size(); ++i)
            if (solved_[i] > 0)
                ranked_.push_back({ordered(solved_[i] * solved_[i] * matrix_[keep[i] * all + keep[i]]), keep[i], 0});
        std::sort(ranked_.begin(), ranked_.end(), [](const Candidate& a, const Candidate& b) {
            return a.gain != b.gain ? a.gain > b.gain : a.item < b.item;
        });
        ranked_.resize(std::min(ranked_.size(), static_cast<size_t>(most)));
        keep.clear();
        for (const Candidate& each : ranked_) keep.push_back(each.item);
    }

    struct Candidate {
        float gain;
        int32_t item;
        float pull;
    };

    const NeighborSearch& s_;
    const int64_t most_;
    const ImplicitKernels& kernels_;
    SymmetricWork work_;
    std::vector<float> together_, lacking_, pull_, matrix_, part_, solved_;
    std::vector<int32_t> place_, local_, met_, chosen_, users_, here_, keep_, order_;
    std::vector<uint64_t> bits_;
    std::vector<Candidate> candidates_, ranked_;
};

}  // namespace

void Sets::check(int64_t n, int64_t n_members) const {
    require_at_most(static_cast<size_t>(n), kMostRows, "a list of sets", "sets");
    require_at_most(static_cast<size_t>(n_members), kMostRows, "a list of sets", "kinds of members");
    require_at_most(member.size(), kMostRows, "a list of sets", "members");
    require(count() == n && start.front() == 0 && start.back() == static_cast<int64_t>(member.size()) &&
                std::is_sorted(start.begin(), start.end()),
            "the starts must rise from 0 to the number of members, one per set and one more");
    for (int32_t i : member) require(i >= 0 && i < n_members, "a set has a member that there is not");
}

void find_neighbors(Team& team, const NeighborSearch& search, Matrix<int32_t> neighbor, Matrix<float> value) {
    const int64_t n_items = search.items.rows, n_users = search.histories.count();
    search.events.check(n_items, n_users);
    search.histories.check(n_users, n_items);
    search.holders.check(n_items, n_users);
    require(search.held_out.size() == search.events.index.size() && search.plain.size() == search.held_out.size(),
            "two predictions per event are needed");
    require(search.sums.has_shape(n_items, search.items.columns),
            "one vector and one sum of users per item are needed");
    require(neighbor.rows == n_items && value.has_shape(n_items, neighbor.columns), "one row per item is needed");
    require(search.candidates >= 1 && search.candidates <= 4096, "from 1 to 4096 candidates");
    const auto positive = [](float x) { return std::isfinite(x) && x > 0; };
    require(positive(search.unobserved) && positive(search.ridge) && std::isfinite(search.beta),
            "the weight of unobserved pairs and the ridge must be finite numbers above 0");
    std::vector<std::unique_ptr<Regression>> of_threads(static_cast<size_t>(team.size()));
    team.run(n_items, kGrain, [&](int64_t begin, int64_t end, int thread) {
        auto& regression = of_threads[static_cast<size_t>(thread)];
        if (!regression) regression = std::make_unique<Regression>(search, neighbor.columns);
        for (int64_t item = begin; item < end; ++item) regression->run(item, neighbor.row(item), value.row(item));
    });
}

}  // namespace bitfm
