#include "topn/code_paths.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace bitfm {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kMoreSteps = 0x1p-8;  // what the limits' single-precision arithmetic may lose, and more
constexpr size_t kFar = 16 << 20;      // bytes
constexpr double kSteps = 254;         // that a perfect match is worth, for a query of real numbers

// How many of its bits a nibble has different from another.
constexpr auto kDifferent = [] {
    std::array<std::array<uint8_t, 16>, 16> table{};
    for (unsigned a = 0; a < 16; ++a)
        for (unsigned b = 0; b < 16; ++b) table[a][b] = static_cast<uint8_t>(std::popcount(a ^ b));
    return table;
}();

// A cost that half of a random code rarely falls short of: three standard deviations below its mean.
int rare_cost(int bits, double bit_cost) {
    return static_cast<int>((bits / 4.0 - 3 * std::sqrt(bits / 8.0)) * bit_cost);
}

}  // namespace

CodePath::CodePath(const CodeCatalogue& items, int max_cost, int half_scan_limit)
    : items_(items),
      chunks_{.bytes = items.bytes,
              .far = items.codes.size() > kFar,
              .codes = items.codes.data(),
              .alive = items.alive.data(),
              .bias = items.chunk_bias.data(),
              .inverse_most = items.inverse_most.data(),
              .inverse_least = items.inverse_least.data()},
      tables_(static_cast<size_t>(kTile * items.bytes * 32)) {
    tile_.max_cost = max_cost;
    tile_.half_scan_limit = half_scan_limit;
    tile_.tables = tables_.data();
}

void CodePath::restart(int n) {
    tile_.n = n;
    for (int lane = 0; lane < kTile; ++lane) tile_.threshold[lane] = lane < n ? -kInfinity : kInfinity;
}

void CodePath::set_steps(int lane, double upper_bound, double step) {
    usable_[lane] = step == 0 || (step >= 1e-30 && step <= 1e30);
    tile_.upper_bound[lane] = static_cast<float>(upper_bound * (1 + 1e-6) + kMoreSteps);
    tile_.inverse_step[lane] = static_cast<float>(1 / step);
}

CodeByCode::CodeByCode(const CodeCatalogue& items, const CodeQueries& queries)
    : CodePath(items, items.bytes * 8 < kAllHit ? kAllHit - 1 : kAllHit, rare_cost(items.bytes * 8, 1)),
      queries_(queries) {}

void CodeByCode::start(int64_t first, int n) {
    restart(n);
    for (int lane = 0; lane < n; ++lane) {
        code_[lane] = queries_.codes.data() + (first + lane) * items_.bytes;
        gain_[lane] = queries_.gains[static_cast<size_t>(first + lane)];
        for (int m = 0; m < 2 * items_.bytes; ++m) {
            const auto nibble = static_cast<size_t>(code_[lane][m / 2] >> m % 2 * 4 & 15);
            std::copy_n(kDifferent[nibble].data(), 16, table(lane) + m * 16);
        }
        set_steps(lane, bits() / 2.0, 2 * static_cast<double>(gain_[lane]));
    }
}

int CodeByCode::count(int lane, int64_t place) const {
    const uint8_t* code = code_at(place);
    int cost = 0;
    for (int j = 0; j < items_.bytes; ++j)
        cost += std::popcount(static_cast<unsigned>(code_[lane][j] ^ code[j * kChunkItems]));
    return cost;
}

CodeByVector::CodeByVector(const CodeCatalogue& items, const RealQueries& queries)
    : CodePath(items, kAllHit, rare_cost(items.bytes * 8, 2 * kSteps / (items.bytes * 8))),
      queries_(queries),
      sums_(static_cast<size_t>(kTile * items.bytes * 32)) {}

void CodeByVector::start(int64_t first, int n) {
    restart(n);
    for (int lane = 0; lane < n; ++lane) prepare(lane, queries_.vectors.data() + (first + lane) * items_.width());
}

void CodeByVector::prepare(int lane, const float* p) {
    double size = 0;
    for (int t = 0; t < items_.width(); ++t) size += std::abs(static_cast<double>(p[t]));
    const double step = size / kSteps;
    double* sums = sums_.data() + lane * items_.bytes * 32;
    uint8_t* costs = table(lane);
    for (int m = 0; m < 2 * items_.bytes; ++m, p += 4, sums += 16, costs += 16)
        for (int v = 0; v < 16; ++v) {
            double sum = 0, cost = 0;
            for (int t = 0; t < 4; ++t) {
                const auto x = static_cast<double>(p[t]);
                const bool plus = v >> t & 1;
                sum += plus ? x : -x;
                if (plus != (x > 0)) cost += 2 * std::abs(x);
            }
            sums[v] = sum;
            const double steps = step > 0 ? cost / step * (1 - 1e-9) : 0;
            costs[v] = static_cast<uint8_t>(std::min<double>(kMostCost, steps));
        }
    set_steps(lane, kSteps, step);
}

double CodeByVector::score(const ScanKernels&, int lane, int64_t place) const {
    const double* sums = sums_.data() + lane * items_.bytes * 32;
    const uint8_t* code = code_at(place);
    double even = 0, odd = 0;
    for (int j = 0; j < items_.bytes; ++j, sums += 32) {
        even += sums[code[j * kChunkItems] & 15];
        odd += sums[16 + (code[j * kChunkItems] >> 4)];
    }
    return static_cast<double>(items_.bias[place]) + static_cast<double>(items_.gain[place]) * (even + odd);
}

}  // namespace bitfm
