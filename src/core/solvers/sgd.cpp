// Stochastic gradient descent: what the paper calls libFM.
#include <algorithm>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "base/sizes.hpp"
#include "solvers/factor_groups.hpp"
#include "solvers/solvers.hpp"

namespace bitfm {

namespace {
constexpr int64_t kChunk = 4096;
constexpr int8_t kNoLevels = 0;
}  // namespace

template <class Real>
std::pair<double, double> sweep_sgd(Team& team, Residuals<Real>& residuals, double bias, std::span<Real> weights,
                                    Matrix<Real> factors, std::span<const double> factor_ridge,
                                    std::span<const double> weight_ridge, double learning_rate,
                                    std::span<const int32_t> order) {
    const TrainingSet<Real>& set = residuals.set();
    const Design<Real>& design = set.design;
    const int rank = rank_of(factors, design.n_features);
    require(team.size() == 1, "stochastic gradient descent runs on one thread");
    require(static_cast<int64_t>(weights.size()) == design.n_features, "one weight per feature is needed");
    require(factor_ridge.size() == design.fields.size() && weight_ridge.size() == design.fields.size(),
            "one ridge per field is needed");
    for (int32_t s : order) require(s >= 0 && s < set.size(), "order must name interactions of the set");

    std::vector<const int64_t*> indptr;
    std::vector<const int32_t*> indices, row;
    std::vector<const Real*> values;
    std::vector<const int8_t*> levels;
    std::vector<int64_t> n_columns;
    std::vector<float> scale;
    std::vector<int64_t> first;
    std::vector<int> block;
    std::vector<Real> ridge_v(factor_ridge.begin(), factor_ridge.end());
    std::vector<Real> ridge_w(weight_ridge.begin(), weight_ridge.end());
    for (const auto& field : design.fields) {
        indptr.push_back(field.identity ? nullptr : field.indptr.data());
        indices.push_back(field.indices.data());
        values.push_back(field.values.data());
        levels.push_back(!field.dense ? nullptr : field.levels.empty() ? &kNoLevels : field.levels.data());
        n_columns.push_back(field.n_columns);
        scale.push_back(field.scale);
        first.push_back(field.first);
        row.push_back(set.blocks[field.block].row_of.data());
        block.push_back(field.block);
    }
    // Eight lanes at a time: a rank that is no multiple of eight is swept in a padded copy.
    const int padded_rank = (rank + kLanes - 1) / kLanes * kLanes;
    const size_t scratch_size = static_cast<size_t>(padded_rank) * (design.blocks.size() + 1);
    require_at_most(scratch_size, INT32_MAX, "an interaction", "sums (rank × blocks)", "take a lower rank");
    std::vector<Real> padded;
    Real* v = factors.data;
    auto copy_rows = [&](const Real* from, int from_rank, Real* to, int to_rank) {
        for (int64_t i = 0; i < design.n_features; ++i) std::copy_n(from + i * from_rank, rank, to + i * to_rank);
    };
    if (padded_rank != rank) {
        padded.resize(static_cast<size_t>(design.n_features) * static_cast<size_t>(padded_rank));
        copy_rows(factors.data, rank, padded.data(), padded_rank);
        v = padded.data();
    }
    const SgdInput<Real> in{.n_fields = static_cast<int>(design.fields.size()),
                            .indptr = indptr.data(),
                            .indices = indices.data(),
                            .values = values.data(),
                            .levels = levels.data(),
                            .n_columns = n_columns.data(),
                            .scale = scale.data(),
                            .first = first.data(),
                            .row = row.data(),
                            .block = block.data(),
                            .n_blocks = static_cast<int>(design.blocks.size()),
                            .target = residuals.target().data(),
                            .weight = residuals.weight_or_null(),
                            .order = order.data(),
                            .learning_rate = static_cast<Real>(learning_rate),
                            .factor_ridge = ridge_v.data(),
                            .linear_ridge = ridge_w.data(),
                            .rank = padded_rank,
                            .cross = residuals.cross()};
    std::vector<Real> scratch(scratch_size);
    auto level = static_cast<Real>(bias);
    double loss = 0;
    team.run(static_cast<int64_t>(order.size()), kChunk, [&](int64_t begin, int64_t end, int) {
        loss += isa().kernels->template sweep<Real>().sgd(in, &level, weights.data(), v, scratch.data(), begin, end);
    });
    if (padded_rank != rank) copy_rows(padded.data(), padded_rank, factors.data, rank);
    return {static_cast<double>(level), loss};
}

#define BITFM_INSTANTIATE(Real)                                                                                  \
    template std::pair<double, double> sweep_sgd(Team&, Residuals<Real>&, double, std::span<Real>, Matrix<Real>, \
                                                 std::span<const double>, std::span<const double>, double,       \
                                                 std::span<const int32_t>);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
