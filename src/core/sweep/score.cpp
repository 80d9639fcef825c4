#include "sweep/score.hpp"

#include <algorithm>

#include "base/isa.hpp"

namespace bitfm {

namespace {

constexpr int64_t kRowGrain = 1024, kInteractionGrain = 16384;

// The rows of a block that occur, and each interaction's place among them: only those are worth computing.
struct UsedRows {
    bool all = true;
    int64_t n = 0;
    std::vector<int32_t> rows, place;

    UsedRows(const int32_t* row_of, int64_t n_interactions, int64_t n_rows) : n(n_rows) {
        if (n_interactions >= n_rows) return;
        all = false;
        rows.assign(row_of, row_of + n_interactions);
        std::sort(rows.begin(), rows.end());
        rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
        n = static_cast<int64_t>(rows.size());
        place.resize(static_cast<size_t>(n_interactions));
        for (size_t s = 0; s < place.size(); ++s)
            place[s] = static_cast<int32_t>(std::lower_bound(rows.begin(), rows.end(), row_of[s]) - rows.begin());
    }
    int64_t row(int64_t i) const { return all ? i : rows[i]; }
};

}  // namespace

template <class Real>
double row_group(const Design<Real>& design, size_t block, int64_t row, const FactorView& factors, int group, Real* q) {
    std::fill(q, q + kLanes, Real(0));
    double squares = 0;
    each_feature(design, block, row, [&](int64_t feature, Real x) {
        Real v[kLanes];
        factors.load(feature, group, v);
        for (int t = 0; t < kLanes; ++t) {
            const Real xv = x * v[t];
            q[t] += xv;
            squares += static_cast<double>(xv) * static_cast<double>(xv);
        }
    });
    double total = 0;
    for (int t = 0; t < kLanes; ++t) total += static_cast<double>(q[t]) * static_cast<double>(q[t]);
    return 0.5 * (total - squares);
}

template <class Real, class Weight>
double row_linear(const Design<Real>& design, size_t block, int64_t row, std::span<const Weight> weights) {
    double sum = 0;
    each_feature(design, block, row, [&](int64_t feature, Real x) {
        sum += static_cast<double>(x) * static_cast<double>(weights[feature]);
    });
    return sum;
}

template <class Real, class Weight>
void add_scores(Team& team, const Design<Real>& design, const std::vector<const int32_t*>& row_of,
                std::span<const Weight> weights, const FactorView& factors, bool cross, std::span<Real> out) {
    const size_t n_blocks = design.blocks.size();
    const auto n = static_cast<int64_t>(out.size());
    std::vector<UsedRows> used;
    std::vector<std::vector<double>> own(n_blocks);
    std::vector<std::vector<Real>> q(n_blocks);
    std::vector<const int32_t*> place(n_blocks);
    std::vector<const Real*> q_data(n_blocks);
    for (size_t b = 0; b < n_blocks; ++b) {
        used.emplace_back(row_of[b], n, design.blocks[b].n_rows);
        place[b] = used[b].all ? row_of[b] : used[b].place.data();
        own[b].resize(static_cast<size_t>(used[b].n));
        q[b].resize(static_cast<size_t>(used[b].n) * kLanes);
        q_data[b] = q[b].data();
        team.run(used[b].n, kRowGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t i = begin; i < end; ++i) own[b][i] = row_linear(design, b, used[b].row(i), weights);
        });
    }
    const auto& kernels = isa().kernels->template sweep<Real>();
    for (int group = 0; group < factors.n_groups(); ++group) {
        for (size_t b = 0; b < n_blocks; ++b)
            team.run(used[b].n, kRowGrain, [&](int64_t begin, int64_t end, int) {
                for (int64_t i = begin; i < end; ++i) {
                    const double within =
                        row_group(design, b, used[b].row(i), factors, group, q[b].data() + i * kLanes);
                    if (!cross) own[b][i] += within;
                }
            });
        team.run(n, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            kernels.add_pairs(static_cast<int>(n_blocks), place.data(), q_data.data(), out.data(), begin, end);
        });
    }
    team.run(n, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) {
            double sum = 0;
            for (size_t b = 0; b < n_blocks; ++b) sum += own[b][place[b][s]];
            out[s] += static_cast<Real>(sum);
        }
    });
}

#define BITFM_INSTANTIATE(Real, Weight)                                                                               \
    template double row_linear(const Design<Real>&, size_t, int64_t, std::span<const Weight>);                        \
    template void add_scores(Team&, const Design<Real>&, const std::vector<const int32_t*>&, std::span<const Weight>, \
                             const FactorView&, bool, std::span<Real>);
BITFM_INSTANTIATE(float, float)
BITFM_INSTANTIATE(double, double)
BITFM_INSTANTIATE(double, float)
BITFM_INSTANTIATE(float, double)
template double row_group(const Design<float>&, size_t, int64_t, const FactorView&, int, float*);
template double row_group(const Design<double>&, size_t, int64_t, const FactorView&, int, double*);

}  // namespace bitfm
