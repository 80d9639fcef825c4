#include "solvers/delegate.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "base/sizes.hpp"

namespace bitfm {

namespace {

constexpr int64_t kRows = 64;         // at a time, so that they stay in the nearest cache
constexpr int64_t kStretch = 4096;    // rows whose sums are added up on their own
constexpr int64_t kWidest = 1 << 15;  // an int numbers the elements of a square of that width

void check_widths(const FactorView& values, std::span<const double> mean, std::span<const double> square) {
    const auto width = static_cast<size_t>(values.width);
    require_at_most(width, kWidest, "a feature of the D-step", "factors", "take fewer");
    require(mean.size() == width && square.size() == width * width, "means and squares must have the values' width");
}

// Rows as double, padded to whole groups.
void load_rows(const FactorView& values, int64_t begin, int64_t end, double* out) {
    const int groups = values.n_groups();
    for (int64_t i = begin; i < end; ++i)
        for (int g = 0; g < groups; ++g) values.load(i, g, out + ((i - begin) * groups + g) * kLanes);
}

// The caller's width × width matrix, padded to whole groups by zeros.
std::vector<double> padded(std::span<const double> matrix, int width, int padded_width) {
    std::vector<double> out(static_cast<size_t>(padded_width) * static_cast<size_t>(padded_width));
    for (int i = 0; i < width; ++i) std::copy_n(matrix.data() + i * width, width, out.data() + i * padded_width);
    return out;
}

}  // namespace

void moments(Team& team, const FactorView& values, std::span<double> mean, std::span<double> gram) {
    const int width = values.width, wide = values.n_groups() * kLanes;
    check_widths(values, mean, gram);
    const int64_t n_stretches = (values.n_features + kStretch - 1) / kStretch;
    const auto square = static_cast<size_t>(wide) * static_cast<size_t>(wide);
    // As many partial results at a time as there are threads: memory stays small and the order of adding fixed.
    std::vector<std::vector<double>> parts(static_cast<size_t>(std::min<int64_t>(team.size(), n_stretches)));
    std::vector<double> total(square + static_cast<size_t>(wide));
    for (int64_t first = 0; first < n_stretches; first += static_cast<int64_t>(parts.size())) {
        const int64_t n_now = std::min(static_cast<int64_t>(parts.size()), n_stretches - first);
        team.run(n_now, 1, [&](int64_t which, int64_t, int) {
            auto& part = parts[which];
            part.assign(square + static_cast<size_t>(wide), 0);
            std::vector<double> rows(static_cast<size_t>(kRows * wide));
            const int64_t stop = std::min((first + which + 1) * kStretch, values.n_features);
            for (int64_t begin = (first + which) * kStretch; begin < stop; begin += kRows) {
                const int64_t end = std::min(begin + kRows, stop);
                load_rows(values, begin, end, rows.data());
                isa().kernels->codes.add_gram(rows.data(), static_cast<int>(end - begin), wide, part.data());
                for (int64_t r = 0; r < end - begin; ++r)
                    for (int t = 0; t < wide; ++t) part[square + static_cast<size_t>(t)] += rows[r * wide + t];
            }
        });
        for (int64_t which = 0; which < n_now; ++which)
            for (size_t i = 0; i < total.size(); ++i) total[i] += parts[which][i];
    }
    const double n = static_cast<double>(std::max<int64_t>(values.n_features, 1));
    for (int t = 0; t < width; ++t) mean[t] = total[square + static_cast<size_t>(t)] / n;
    for (int i = 0; i < width; ++i)
        for (int j = 0; j <= i; ++j) gram[i * width + j] = gram[j * width + i] = total[i * wide + j];
}

void map_features(Team& team, const FactorView& values, std::span<const double> mean, std::span<const double> transform,
                  std::span<float> out) {
    const int width = values.width, wide = values.n_groups() * kLanes;
    check_widths(values, mean, transform);
    require(static_cast<int64_t>(out.size()) == values.n_features * width, "out must have the values' shape");
    const std::vector<double> matrix = padded(transform, width, wide);
    team.run(values.n_features, kStretch, [&](int64_t first, int64_t last, int) {
        std::vector<double> rows(static_cast<size_t>(kRows * wide)), mapped(rows.size());
        for (int64_t begin = first; begin < last; begin += kRows) {
            const int64_t end = std::min(begin + kRows, last);
            load_rows(values, begin, end, rows.data());
            for (int64_t r = 0; r < end - begin; ++r)
                for (int t = 0; t < width; ++t) rows[r * wide + t] -= mean[t];
            isa().kernels->codes.map_rows(rows.data(), static_cast<int>(end - begin), wide, matrix.data(),
                                          mapped.data());
            for (int64_t r = 0; r < end - begin; ++r)
                for (int t = 0; t < width; ++t) out[(begin + r) * width + t] = static_cast<float>(mapped[r * wide + t]);
        }
    });
}

}  // namespace bitfm
