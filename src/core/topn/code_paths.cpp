#include "topn/code_paths.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace bitfm {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kMoreReach = 0x1p-8;  // in steps: what the limits' single-precision arithmetic may lose, and more
constexpr double kSteps = 254;         // that a perfect match is worth, for a query of real numbers

}  // namespace

CodePath::CodePath(const Catalogue& items, int most_limit)
    : items_(items),
      chunks_{items.bytes,
              items.codes.data(),
              items.alive.data(),
              items.chunk_bias.data(),
              items.inverse_most.data(),
              items.inverse_least.data()},
      tables_(static_cast<size_t>(kTile * items.bytes * 32)) {
    tile_.most = most_limit;
    tile_.tables = tables_.data();
}

void CodePath::restart(int n) {
    tile_.n = n;
    for (int lane = 0; lane < kTile; ++lane) tile_.wanted[lane] = lane < n ? -kInfinity : kInfinity;
}

void CodePath::set_steps(int lane, double reach, double step) {
    usable_[lane] = step == 0 || (step >= 1e-30 && step <= 1e30);
    tile_.reach[lane] = static_cast<float>(reach * (1 + 1e-6) + kMoreReach);
    tile_.inverse_step[lane] = static_cast<float>(1 / step);
}

void CodeByCode::start(int64_t first, int n) {
    restart(n);
    for (int lane = 0; lane < n; ++lane) {
        code_[lane] = queries_.codes.data() + (first + lane) * items_.bytes;
        gain_[lane] = queries_.gains[static_cast<size_t>(first + lane)];
        for (int m = 0; m < 2 * items_.bytes; ++m) {
            const unsigned half = code_[lane][m / 2] >> m % 2 * 4 & 15;
            for (unsigned v = 0; v < 16; ++v) table(lane)[m * 16 + v] = static_cast<uint8_t>(std::popcount(half ^ v));
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

void CodeByVector::start(int64_t first, int n) {
    restart(n);
    for (int lane = 0; lane < n; ++lane) prepare(lane, queries_.vectors.data() + (first + lane) * items_.width());
}

void CodeByVector::prepare(int lane, const float* p) {
    double reach = 0;
    for (int t = 0; t < items_.width(); ++t) reach += std::abs(static_cast<double>(p[t]));
    const double step = reach / kSteps;
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

double CodeByVector::score(int lane, int64_t place) const {
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
