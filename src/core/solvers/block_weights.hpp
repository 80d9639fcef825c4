// The bias and the weights, block by block and weight by weight: what ridge regression and its Gibbs sampler share.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "solvers/residuals.hpp"

namespace bitfm {

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

// Replace the weights of a block one after another by fresh(field, feature, num, den).
template <class Real, class Fresh>
void sweep_block_weights(Team& team, Residuals<Real>& residuals, size_t b, std::span<Real> weights,
                         const Fresh& fresh) {
    const TrainingSet<Real>& set = residuals.set();
    const std::span<Real> residual = residuals.write(team);
    const std::span<const Real> mass = residuals.weight();
    const auto& index = set.blocks[b];
    const Block& block = set.design.blocks[b];
    LinearRows<Real> rows(block.n_rows);
    team.run(block.n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        each_interaction(index, begin, end, [&](int64_t row, int64_t s) {
            const double weight = mass.empty() ? 1.0 : static_cast<double>(mass[s]);
            rows.count[row] += weight;
            rows.sum[row] += weight * static_cast<double>(residual[s]);
        });
    });
    for (int f = block.first_field; f < block.first_field + block.n_fields; ++f) {
        const Field<Real>& field = set.design.fields[f];
        auto update = [&](int64_t begin, int64_t end, int) {
            for (int64_t j = begin; j < end; ++j) {
                const auto only = static_cast<int32_t>(j);
                const Column<Real> column = field.identity ? Column<Real>{&only, nullptr, 1} : set.column(f, j);
                const int64_t feature = field.first + j;
                rows.update(column, weights[feature],
                            [&](double num, double den) { return fresh(f, feature, num, den); });
            }
        };
        if (set.fields[f].one_hot)
            team.run(field.n_columns, kRowGrain, update);
        else
            for (int64_t j = 0; j < field.n_columns; j += kRowGrain) {
                team.poll();
                update(j, std::min(j + kRowGrain, field.n_columns), 0);
            }
    }
    team.run(block.n_rows, kRowGrain, [&](int64_t begin, int64_t end, int) {
        each_interaction(index, begin, end, [&](int64_t row, int64_t s) { residual[s] -= rows.shift[row]; });
    });
}

// Move the residuals to mean 0, or to noise / √(their number); returns by how much.
template <class Real>
double centre(Team& team, Residuals<Real>& residuals, double noise) {
    const std::span<Real> residual = residuals.write(team);
    const std::span<const Real> weight = residuals.weight();
    const int64_t n = residuals.set().size();
    auto sum_of = [&](auto&& term) {
        return team.sum(n, [&](int64_t begin, int64_t end) {
            double sum = 0;
            for (int64_t s = begin; s < end; ++s) sum += static_cast<double>(term(s));
            return sum;
        });
    };
    const bool weighted = !weight.empty();
    const double mass = weighted ? sum_of([&](int64_t s) { return weight[s]; }) : static_cast<double>(n);
    if (!(mass > 0)) return 0;
    const double step = sum_of([&](int64_t s) {
                            const double e = static_cast<double>(residual[s]);
                            return weighted ? static_cast<double>(weight[s]) * e : e;
                        }) / mass +
                        noise / std::sqrt(mass);
    team.run(n, kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s) residual[s] -= static_cast<Real>(step);
    });
    return step;
}

}  // namespace bitfm
