// The w-step: ridge regression, or its Gibbs sampler, weight by weight, block by block.
#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/normal.hpp"
#include "sweep/trainer.hpp"

namespace bitfm {

namespace {

constexpr int64_t kRowGrain = 256, kInteractionGrain = 16384;

// A block's rows while its weights are swept: what their interactions share.
template <class Real>
struct LinearRows {
    std::vector<double> count, sum;  // Σ 1 and Σ e of the row's interactions, the latter kept up to date
    std::vector<Real> shift;         // by how much the row's scores have risen

    explicit LinearRows(int64_t n_rows) : count(n_rows), sum(n_rows), shift(n_rows) {}

    // Replace one weight by fresh(num, den), the weight being num / den by the data alone.
    template <class Fresh>
    void update(const Column<Real>& column, Real& weight, const Fresh& fresh) {
        double num = 0, den = 0;
        for (int64_t i = 0; i < column.n; ++i) {
            const double x = value(column, i);
            num += x * sum[column.row[i]];
            den += x * x * count[column.row[i]];
        }
        const Real before = weight;
        weight = static_cast<Real>(fresh(num + den * static_cast<double>(weight), den));
        const Real step = weight - before;
        if (step == 0) return;
        for (int64_t i = 0; i < column.n; ++i) {
            const int32_t row = column.row[i];
            const Real moved = step * value(column, i);
            shift[row] += moved;
            sum[row] -= static_cast<double>(moved) * count[row];
        }
    }

    static Real value(const Column<Real>& column, int64_t i) { return column.value ? column.value[i] : Real(1); }
};

// visit(row, interaction) for the interactions of rows [begin, end).
template <class Index, class Visit>
void each_interaction(const Index& index, int64_t begin, int64_t end, Visit&& visit) {
    for (int64_t row = begin; row < end; ++row)
        for (int64_t place = index.start[row]; place < index.start[row + 1]; ++place)
            visit(row, index.order.empty() ? place : index.order[place]);
}

}  // namespace

template <class Real>
double Trainer<Real>::sweep_weights(Team& team, double bias, std::span<Real> weights, std::span<const double> ridge,
                                    bool fit_bias) {
    require(static_cast<int64_t>(weights.size()) == set_.design.n_features, "one weight per feature is needed");
    require(ridge.size() == set_.design.fields.size(), "one ridge per field is needed");
    flips_.settle(team, set_, residual_);
    flips_.forget();
    auto shrunk = [&](int field, int64_t feature, double num, double den) {
        const double total = den + ridge[field];
        return total > 0 ? num / total : static_cast<double>(weights[feature]);
    };
    for (size_t b = 0; b < set_.blocks.size(); ++b) sweep_block_weights(team, b, weights, shrunk);
    return fit_bias ? bias + centre(team, 0) : bias;
}

template <class Real>
double Trainer<Real>::draw_weights(Team& team, double bias, std::span<Real> weights, std::span<const double> precision,
                                   std::span<const double> mean, Draw draw) {
    require(static_cast<int64_t>(weights.size()) == set_.design.n_features, "one weight per feature is needed");
    require(precision.size() == set_.design.fields.size() && mean.size() == precision.size(),
            "precision and mean must be given for each field");
    require_prior<Real>(precision, mean, draw);
    flips_.settle(team, set_, residual_);
    flips_.forget();
    std::vector<float> noise(weights.size() + 1);
    fill_normal(draw.seed, 0, noise);
    auto drawn = [&](int field, int64_t feature, double num, double den) {
        if (!(den > 0)) return mean[field];  // the data say nothing: the prior's mean stands for all draws
        const double total = draw.precision * den + precision[field];
        return (draw.precision * num + precision[field] * mean[field]) / total +
               static_cast<double>(noise[feature]) / std::sqrt(total);
    };
    for (size_t b = 0; b < set_.blocks.size(); ++b) sweep_block_weights(team, b, weights, drawn);
    return bias + centre(team, static_cast<double>(noise.back()) / std::sqrt(draw.precision));
}

template <class Real>
template <class Update>
void Trainer<Real>::sweep_block_weights(Team& team, size_t b, std::span<Real> weights, const Update& fresh) {
    const auto& index = set_.blocks[b];
    const Block& block = set_.design.blocks[b];
    LinearRows<Real> rows(block.n_rows);
    team.run(block.n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        each_interaction(index, begin, end, [&](int64_t row, int64_t s) {
            const double weight = set_.weight.empty() ? 1.0 : static_cast<double>(set_.weight[s]);
            rows.count[row] += weight;
            rows.sum[row] += weight * static_cast<double>(residual_[s]);
        });
    });
    for (int f = block.first_field; f < block.first_field + block.n_fields; ++f) {
        const Field<Real>& field = set_.design.fields[f];
        auto update = [&](int64_t begin, int64_t end, int) {
            for (int64_t j = begin; j < end; ++j) {
                const auto only = static_cast<int32_t>(j);
                const Column<Real> column = field.identity ? Column<Real>{&only, nullptr, 1} : set_.column(f, j);
                const int64_t feature = field.first + j;
                rows.update(column, weights[feature],
                            [&](double num, double den) { return fresh(f, feature, num, den); });
            }
        };
        if (set_.fields[f].one_hot)
            team.run(field.n_columns, kRowGrain, update);
        else
            for (int64_t j = 0; j < field.n_columns; j += kRowGrain) {
                team.poll();
                update(j, std::min(j + kRowGrain, field.n_columns), 0);
            }
    }
    team.run(block.n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        each_interaction(index, begin, end, [&](int64_t row, int64_t s) { residual_[s] -= rows.shift[row]; });
    });
}

// Move the residuals to mean 0, or to noise / √(their number); returns by how much.
template <class Real>
double Trainer<Real>::centre(Team& team, double noise) {
    auto sum_of = [&](auto&& term) {
        return team.sum(set_.size(), [&](int64_t begin, int64_t end) {
            double sum = 0;
            for (int64_t s = begin; s < end; ++s) sum += static_cast<double>(term(s));
            return sum;
        });
    };
    const bool weighted = !set_.weight.empty();
    const double mass = weighted ? sum_of([&](int64_t s) { return set_.weight[s]; }) : static_cast<double>(set_.size());
    if (!(mass > 0)) return 0;
    const double step = sum_of([&](int64_t s) {
                            const double e = static_cast<double>(residual_[s]);
                            return weighted ? static_cast<double>(set_.weight[s]) * e : e;
                        }) / mass +
                        noise / std::sqrt(mass);
    team.run(set_.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) residual_[s] -= static_cast<Real>(step);
    });
    return step;
}

#define BITFM_INSTANTIATE(Real)                                                                                  \
    template double Trainer<Real>::sweep_weights(Team&, double, std::span<Real>, std::span<const double>, bool); \
    template double Trainer<Real>::draw_weights(Team&, double, std::span<Real>, std::span<const double>,         \
                                                std::span<const double>, Draw);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
