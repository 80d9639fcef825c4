#include "retrieval/vector_path.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace bitfm {

namespace {

constexpr double kMore = 1 + 0x1p-20;  // bounds are rounded up by so much
constexpr double kLongest = 185;       // of a query in whole numbers; see the catalogue's
constexpr double kLeast = 1e-30;       // a shorter step is of no use, and its inverse no number
constexpr int64_t kSampled = 256;      // chunks
constexpr int64_t kFewLive = 2;        // items per chunk

// Whether most items are left out, by a sample of the chunks: to count all would take as long as some of the scan.
bool few_are_live(std::span<const uint64_t> live) {
    const auto n = static_cast<int64_t>(live.size()), sampled = std::min(n, kSampled);
    int64_t found = 0;
    for (int64_t i = 0; i < sampled; ++i) found += std::popcount(live[static_cast<size_t>(i * n / sampled)]);
    return found < kFewLive * sampled;
}

}  // namespace

VectorPath::VectorPath(const VectorCatalogue& items, const RealQueries& queries)
    : items_(items),
      queries_(queries),
      few_live_(few_are_live(items.live)),
      basis_(items.basis, items.dimensions, items.leading),
      chunks_{.pairs = items.leading / 2,
              .values = items.values.data(),
              .start = items.start.data(),
              .live = items.live.data(),
              .bias = items.chunk_bias.data(),
              .inverse_step = items.inverse_step.data(),
              .length = items.length.data(),
              .error = items.error.data(),
              .rest = items.rest.data(),
              .nibbles = items.nibbles.empty() ? nullptr : items.nibbles.data(),
              .nibble_inverse_step = items.nibble_inverse_step.data(),
              .nibble_error = items.nibble_error.data()},
      values_(static_cast<size_t>(kTile * items.leading / 2)),
      plain_(static_cast<size_t>(items.leading / 2)),
      projected_(static_cast<size_t>(items.leading)) {
    tile_.values = values_.data();
    tile_.plain_values = plain_.data();
}

int64_t VectorPath::next_live(int64_t begin, int64_t end) {
    while (begin < end && !items_.live[static_cast<size_t>(begin)]) ++begin;
    std::fill_n(tile_.hits, tile_.n, ~uint64_t(0));
    return begin;
}

void VectorPath::start(int64_t first, int n) {
    tile_.n = n;
    for (int lane = 0; lane < n; ++lane) {
        tile_.threshold[lane] = -std::numeric_limits<float>::infinity();
        prepare(lane, queries_.vectors.subspan(static_cast<size_t>((first + lane) * items_.width()),
                                               static_cast<size_t>(items_.width())));
    }
    if (n != 1 || items_.nibbles.empty()) return;
    tile_.plain_sum = 0;
    for (size_t t = 0; t < plain_.size(); ++t) {
        const auto plain = [&](int d) { return static_cast<int>(values_[t] >> 8 * d & 0xff) - kOffset; };
        const auto both = (static_cast<uint32_t>(plain(0)) & 0xff) | (static_cast<uint32_t>(plain(1)) & 0xff) << 8;
        plain_[t] = both | both << 16;
        tile_.plain_sum += plain(0) + plain(1);
    }
}

void VectorPath::prepare(int lane, std::span<const float> vector) {
    vector_[lane] = vector.data();
    const double rest = basis_.project(vector, projected_);
    double squares = 0, largest = 0, lost = 0, kept = 0;
    for (double x : projected_) {
        squares += x * x;
        largest = std::max(largest, std::abs(x));
    }
    const double half_steps = 0.5 * std::sqrt(static_cast<double>(projected_.size()));
    const double step = std::max({std::sqrt(squares) / (kLongest - half_steps), largest / kOffset, kLeast});
    uint32_t* values = values_.data() + static_cast<size_t>(lane) * projected_.size() / 2;
    for (size_t t = 0; t < projected_.size(); ++t) {
        const double whole = std::nearbyint(projected_[t] / step);
        kept += whole * step * whole * step;
        lost += (projected_[t] - whole * step) * (projected_[t] - whole * step);
        const auto byte = static_cast<uint32_t>(static_cast<int>(whole) + kOffset);
        if (t % 2 == 0)
            values[t / 2] = byte | byte << 16;
        else
            values[t / 2] |= byte << 8 | byte << 24;
    }
    tile_.inverse_step[lane] = static_cast<float>(1 / step);
    tile_.length[lane] = static_cast<float>(std::sqrt(kept) * kMore);
    tile_.error[lane] = static_cast<float>(std::sqrt(lost) * kMore);
    tile_.rest[lane] = static_cast<float>(rest * kMore);
}

}  // namespace bitfm
