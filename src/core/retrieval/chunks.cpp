#include "retrieval/chunks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "kernels/kernels.hpp"

namespace bitfm {

namespace {

// Puts alike items next to each other: halves what differs most, again and again, down to chunks.
class Halving {
  public:
    Halving(std::span<const float> reaches, std::span<const float> biases, std::span<const int32_t> positions,
            double weight)
        : reaches_(reaches), biases_(biases), positions_(positions), weight_(weight), order_(reaches.size()) {
        std::iota(order_.begin(), order_.end(), 0);
        halve(0, order_.size());
    }
    std::vector<int32_t> take() { return std::move(order_); }

  private:
    void halve(size_t begin, size_t end) {
        const auto first = order_.begin() + static_cast<int64_t>(begin);
        const auto last = order_.begin() + static_cast<int64_t>(end);
        if (end - begin <= kChunkItems) {
            std::sort(first, last, [&](int32_t a, int32_t b) { return positions_[a] < positions_[b]; });
            return;
        }
        const bool by_reach = weight_ * spread(reaches_, begin, end) > spread(biases_, begin, end);
        const auto& values = by_reach ? reaches_ : biases_;
        const size_t middle = begin + ((end - begin) / kChunkItems + 1) / 2 * kChunkItems;
        std::nth_element(first, order_.begin() + static_cast<int64_t>(middle), last, [&](int32_t a, int32_t b) {
            return values[a] != values[b] ? values[a] > values[b] : positions_[a] < positions_[b];
        });
        halve(begin, middle);
        halve(middle, end);
    }
    double spread(std::span<const float> values, size_t begin, size_t end) const {
        float low = std::numeric_limits<float>::infinity(), high = -std::numeric_limits<float>::infinity();
        for (size_t i = begin; i < end; ++i) {
            low = std::min(low, values[order_[i]]);
            high = std::max(high, values[order_[i]]);
        }
        return static_cast<double>(high) - static_cast<double>(low);
    }

    std::span<const float> reaches_, biases_;
    std::span<const int32_t> positions_;
    double weight_;
    std::vector<int32_t> order_;
};

}  // namespace

std::vector<Chunk> make_chunks(std::span<const float> biases, std::span<const float> reaches,
                               std::span<const int32_t> positions, double weight) {
    const size_t n = biases.size();
    require(reaches.size() == n && positions.size() == n, "one bias, gain and position per item are needed");
    for (size_t i = 0; i < n; ++i) {
        require(std::isfinite(biases[i]), "biases must be finite numbers");
        require(reaches[i] >= 0, "gains and lengths must be numbers from 0 up");
        require(positions[i] >= 0, "positions must be from 0 up");
    }
    const std::vector<int32_t> order = Halving(reaches, biases, positions, weight).take();
    std::vector<Chunk> chunks;
    std::vector<std::pair<double, size_t>> promise;
    for (size_t begin = 0; begin < n; begin += kChunkItems) {
        const auto first = order.begin() + static_cast<int64_t>(begin);
        const auto last = order.begin() + static_cast<int64_t>(std::min(n, begin + kChunkItems));
        Chunk chunk{{first, last}, biases[static_cast<size_t>(*first)], positions[static_cast<size_t>(*first)]};
        float reach = 0;
        for (int32_t item : chunk.items) {
            chunk.bias = std::max(chunk.bias, biases[static_cast<size_t>(item)]);
            reach = std::max(reach, reaches[static_cast<size_t>(item)]);
        }
        const double best = chunk.bias + weight * reach;  // 0 × ∞ has no place in an order
        promise.emplace_back(std::isnan(best) ? 0 : -best, chunks.size());
        chunks.push_back(std::move(chunk));
    }
    std::sort(promise.begin(), promise.end());
    std::vector<Chunk> sorted;
    for (const auto& [_, at] : promise) sorted.push_back(std::move(chunks[at]));
    return sorted;
}

}  // namespace bitfm
