#include "solvers/distillation.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "parameters/bits.hpp"
#include "parameters/factor_view.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 64;

void check_codes(std::span<const uint8_t> codes, std::span<const float> gains, int bits) {
    require_bits(bits);
    require(codes.size() == gains.size() * static_cast<size_t>(bits / 8), "one gain per code is needed");
}

// Checks what the kernel trusts; returns whether no two columns meet in a row.
bool check_columns(const Columns& columns, size_t n_columns, size_t n_rows) {
    if (columns.start.empty()) {
        require(n_columns == n_rows, "an identity has as many rows as columns");
        return true;
    }
    require(columns.start.size() == n_columns + 1 && columns.row.size() == columns.value.size(),
            "the arrays of the columns do not fit together");
    require(columns.start.front() == 0 && columns.start.back() == static_cast<int64_t>(columns.row.size()) &&
                std::is_sorted(columns.start.begin(), columns.start.end()),
            "the columns' starts must rise from 0 to the number of non-zeros");
    std::vector<char> met(n_rows);
    bool apart = true;
    for (int32_t row : columns.row) {
        require(row >= 0 && static_cast<size_t>(row) < n_rows, "a row of the columns is out of range");
        apart = apart && !met[row];
        met[row] = 1;
    }
    return apart;
}

}  // namespace

int64_t distill_field(Team& team, std::span<uint8_t> codes, std::span<float> gains, int bits, std::span<float> error,
                      std::span<const float> hessian, std::span<const float> row_weight, const Columns& columns,
                      int passes, bool keep_gains, float most_gain) {
    check_codes(codes, gains, bits);
    require(hessian.size() == static_cast<size_t>(bits * bits), "the Hessian must be bits × bits");
    require(error.size() == row_weight.size() * static_cast<size_t>(bits), "errors must be rows × bits");
    require(most_gain >= 0, "the largest gain must be from 0 up");
    const bool apart = check_columns(columns, gains.size(), row_weight.size());
    const bool identity = columns.start.empty();
    const DistilledField field{.bits = bits,
                               .passes = passes,
                               .start = identity ? nullptr : columns.start.data(),
                               .row = identity ? nullptr : columns.row.data(),
                               .value = identity ? nullptr : columns.value.data(),
                               .row_weight = row_weight.data(),
                               .hessian = hessian.data(),
                               .error = error.data(),
                               .codes = codes.data(),
                               .gains = gains.data(),
                               .keep_gains = keep_gains,
                               .most_gain = most_gain};
    const auto n = static_cast<int64_t>(gains.size());
    std::atomic<int64_t> flips{0};
    auto sweep = [&](int64_t begin, int64_t end, int) {
        flips += isa().kernels->codes.distill_columns(field, begin, end);
    };
    if (apart)
        team.run(n, kGrain, sweep);
    else  // each feature sees what those before it have done
        for (int64_t begin = 0; begin < n; begin += kGrain) {
            team.poll();
            sweep(begin, std::min(begin + kGrain, n), 0);
        }
    return flips;
}

int64_t distill_pairs(Team& team, std::span<uint8_t> codes, std::span<float> gains, int bits,
                      std::span<const float> factors, int width, std::span<const float> weight, int passes) {
    check_codes(codes, gains, bits);
    const size_t n = gains.size();
    require(width > 0 && width % kLanes == 0 && factors.size() == n * static_cast<size_t>(width),
            "factors must be features × width, a multiple of 8");
    require(weight.size() == n, "one weight per feature is needed");
    std::vector<float> gram(static_cast<size_t>(bits) * static_cast<size_t>(bits));
    std::vector<float> cross(static_cast<size_t>(bits) * static_cast<size_t>(width));
    const FactorView view = FactorView::of(codes, gains, static_cast<int64_t>(n), bits);
    std::vector<float> values(static_cast<size_t>(bits));
    for (size_t i = 0; i < n; ++i) {
        if (!(weight[i] > 0) || !(gains[i] > 0)) continue;
        for (int g = 0; g < view.n_groups(); ++g) view.load(static_cast<int64_t>(i), g, values.data() + g * kLanes);
        for (int s = 0; s < bits; ++s) {
            const float left = weight[i] * values[s];
            for (int t = 0; t < bits; ++t) gram[s * bits + t] += left * values[t];
            for (int t = 0; t < width; ++t) cross[s * width + t] += left * factors[i * width + t];
        }
    }
    const DistilledPairs pairs{.bits = bits,
                               .width = width,
                               .passes = passes,
                               .weight = weight.data(),
                               .factors = factors.data(),
                               .gram = gram.data(),
                               .cross = cross.data(),
                               .codes = codes.data(),
                               .gains = gains.data()};
    int64_t flips = 0;
    for (size_t i = 0; i < n; ++i) {
        team.poll();
        flips += isa().kernels->codes.distill_feature(pairs, static_cast<int64_t>(i));
    }
    return flips;
}

}  // namespace bitfm
