#include "retrieval/code_catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/sizes.hpp"
#include "parameters/bits.hpp"
#include "retrieval/chunks.hpp"

namespace bitfm {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiny = 1e-30f,
                kHuge = 1e30f;  // gains beyond these are not told apart: their inverses would round badly

}  // namespace

float inverse_of_most(float gain) {
    if (gain == 0) return kInfinity;
    return gain < kTiny || gain > kHuge ? 0 : std::nextafter(1 / gain, 0.0f);
}
float inverse_of_least(float gain) {
    return gain < kTiny || gain > kHuge ? kInfinity : std::nextafter(1 / gain, kInfinity);
}

void CodeSizes::check() const {
    bits_of_bytes(static_cast<size_t>(std::max(bytes, 0)));
    require(chunks >= 0, "catalogue: the number of chunks must be from 0 up, got " + std::to_string(chunks));
    require_at_most(static_cast<size_t>(chunks), kMostItems / kChunkItems, "a catalogue", "chunks of items");
}

CodeArrays<Owned> arrange(Matrix<const uint8_t> codes, std::span<const float> gains, std::span<const float> biases,
                          std::span<const int32_t> positions, double weight) {
    require_at_most(biases.size(), kMostItems, "a catalogue", "items");
    require(codes.rows == static_cast<int64_t>(biases.size()), "one code per item is needed");
    require(std::all_of(gains.begin(), gains.end(), [](float g) { return std::isfinite(g); }), "gains must be finite");
    const std::vector<Chunk> chunks = make_chunks(biases, gains, positions, weight);
    const CodeSizes sizes{static_cast<int64_t>(chunks.size()), bits_of_bytes(static_cast<size_t>(codes.columns)) / 8};
    sizes.check();
    const auto bytes = static_cast<size_t>(sizes.bytes);
    CodeArrays<Owned> out;
    CodeCatalogue::each(out, sizes, [](const char*, auto& array, const Shape& shape) { array.resize(size_of(shape)); });
    std::fill(out.position.begin(), out.position.end(), -1);
    for (size_t c = 0; c < chunks.size(); ++c) {
        const Chunk& chunk = chunks[c];
        float most = 0, least = kInfinity;
        for (size_t i = 0; i < chunk.items.size(); ++i) {
            const auto item = static_cast<size_t>(chunk.items[i]);
            const size_t slot = c * kChunkItems + i;
            for (size_t j = 0; j < bytes; ++j)
                out.codes[(c * bytes + j) * kChunkItems + i] = codes.row(chunk.items[i])[j];
            out.position[slot] = positions[item];
            out.bias[slot] = biases[item];
            out.gain[slot] = gains[item];
            most = std::max(most, gains[item]);
            least = std::min(least, gains[item]);
        }
        out.live[c] = first_bits(chunk.items.size());
        out.chunk_bias[c] = chunk.bias;
        out.chunk_most[c] = most;
        out.chunk_least[c] = least;
        out.inverse_most[c] = inverse_of_most(most);
        out.inverse_least[c] = inverse_of_least(least);
        out.chunk_first[c] = chunk.first;
    }
    return out;
}

}  // namespace bitfm
