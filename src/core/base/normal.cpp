#include "base/normal.hpp"

#include <cmath>
#include <numbers>

namespace bitfm {

namespace {

// Mixes a counter into 64 random bits (the finaliser of SplitMix64).
uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

}  // namespace

void fill_normal(uint64_t seed, int64_t first, std::span<float> out) {
    const uint64_t key = mix(mix(seed));
    for (size_t i = 0; i < out.size(); i += 2) {  // two at a time, by Box and Muller
        const uint64_t bits = mix(key ^ mix(static_cast<uint64_t>(first) + i));
        const double u = (static_cast<double>(bits >> 32) + 0.5) * 0x1p-32;
        const double angle = 2 * std::numbers::pi * static_cast<double>(bits & 0xffffffff) * 0x1p-32;
        const double radius = std::sqrt(-2 * std::log(u));
        out[i] = static_cast<float>(radius * std::cos(angle));
        if (i + 1 < out.size()) out[i + 1] = static_cast<float>(radius * std::sin(angle));
    }
}

}  // namespace bitfm
