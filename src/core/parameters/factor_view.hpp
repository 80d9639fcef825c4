// A feature's values, eight at a time, wherever they are kept: real factors, or codes with gains.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"

namespace bitfm {

struct FactorView {
    int64_t n_features = 0;
    int width = 0;  // rank or bits
    const float* reals32 = nullptr;
    const double* reals64 = nullptr;
    const uint8_t* codes = nullptr;  // width / 8 bytes per feature, bit t of byte t / 8 is +1
    const float* gains = nullptr;    // null: all 1

    static FactorView of(std::span<const float> values, int64_t n_features, int rank) {
        return {n_features, rank, values.data(), nullptr, nullptr, nullptr};
    }
    static FactorView of(std::span<const double> values, int64_t n_features, int rank) {
        return {n_features, rank, nullptr, values.data(), nullptr, nullptr};
    }
    static FactorView of(std::span<const uint8_t> codes, std::span<const float> gains, int64_t n_features, int bits) {
        return {n_features, bits, nullptr, nullptr, codes.data(), gains.empty() ? nullptr : gains.data()};
    }

    int n_groups() const { return (width + kLanes - 1) / kLanes; }

    template <class Real>
    void load(int64_t feature, int group, Real* out) const {
        if (codes) {
            const Real gain = gains ? static_cast<Real>(gains[feature]) : Real(1);
            const auto& signs = kSigns[codes[feature * (width / kLanes) + group]];
            for (int t = 0; t < kLanes; ++t) out[t] = gain * static_cast<Real>(signs[static_cast<size_t>(t)]);
        } else if (reals32) {
            load_reals(reals32 + feature * width + group * kLanes, width - group * kLanes, out);
        } else {
            load_reals(reals64 + feature * width + group * kLanes, width - group * kLanes, out);
        }
    }

  private:
    // The eight values that a byte of a code stands for.
    static constexpr auto kSigns = [] {
        std::array<std::array<int8_t, kLanes>, 256> table{};
        for (size_t byte = 0; byte < table.size(); ++byte)
            for (size_t t = 0; t < kLanes; ++t) table[byte][t] = byte >> t & 1 ? 1 : -1;
        return table;
    }();

    template <class From, class Real>
    static void load_reals(const From* from, int left, Real* out) {
        if (left >= kLanes) {
            for (int t = 0; t < kLanes; ++t) out[t] = static_cast<Real>(from[t]);
            return;
        }
        for (int t = 0; t < kLanes; ++t) out[t] = t < left ? static_cast<Real>(from[t]) : Real(0);
    }
};

}  // namespace bitfm
