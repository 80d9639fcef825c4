#include "scores/libfm_loop.hpp"

#include <algorithm>
#include <string>

#include "base/error.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 1024;  // rows at a time

void check(const SparseRows& rows, size_t n_features) {
    require(!rows.indptr.empty() && rows.indptr.front() == 0 &&
                rows.indptr.back() == static_cast<int64_t>(rows.indices.size()) &&
                std::is_sorted(rows.indptr.begin(), rows.indptr.end()),
            "indptr must rise from 0 to the number of non-zeros");
    require(rows.values.size() == rows.indices.size(), "one value per index is needed");
    uint32_t most = 0;  // a negative number is a large one without its sign
    for (int32_t index : rows.indices) most = std::max(most, static_cast<uint32_t>(index));
    require(rows.indices.empty() || most < n_features,
            "indices must be from 0 to below the number of weights, " + std::to_string(n_features));
}

double score_of(const SparseRows& rows, size_t row, double bias, std::span<const double> weights,
                std::span<const double> factors) {
    const auto begin = static_cast<size_t>(rows.indptr[row]), end = static_cast<size_t>(rows.indptr[row + 1]);
    double score = bias;
    for (size_t p = begin; p < end; ++p)
        score += weights[static_cast<size_t>(rows.indices[p])] * static_cast<double>(rows.values[p]);
    for (size_t first = 0; first < factors.size(); first += weights.size()) {
        const double* factor = factors.data() + first;
        double sum = 0, squares = 0;
        for (size_t p = begin; p < end; ++p) {
            const double d = factor[rows.indices[p]] * static_cast<double>(rows.values[p]);
            sum += d;
            squares += d * d;
        }
        score += 0.5 * (sum * sum - squares);
    }
    return score;
}

}  // namespace

void libfm_scores(Team& team, const SparseRows& rows, double bias, std::span<const double> weights,
                  std::span<const double> factors, std::span<double> out) {
    check(rows, weights.size());
    require(weights.empty() ? factors.empty() : factors.size() % weights.size() == 0,
            "factors must have a number for each weight, factor after factor");
    require(out.size() + 1 == rows.indptr.size(), "room for one score per row is needed");
    team.run(static_cast<int64_t>(out.size()), kGrain, [&](int64_t begin, int64_t end, int) {
        for (auto r = static_cast<size_t>(begin); r < static_cast<size_t>(end); ++r)
            out[r] = score_of(rows, r, bias, weights, factors);
    });
}

}  // namespace bitfm
