#include "topn/code_catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "topn/chunks.hpp"

namespace bitfm {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kTiny = 1e-30f,
                kHuge = 1e30f;  // gains beyond these are not told apart: their inverses would round badly

float inverse_of_most(float gain) {
    if (gain == 0) return kInfinity;
    return gain < kTiny || gain > kHuge ? 0 : std::nextafter(1 / gain, 0.0f);
}
float inverse_of_least(float gain) {
    return gain < kTiny || gain > kHuge ? kInfinity : std::nextafter(1 / gain, kInfinity);
}

}  // namespace

template <class Byte, class Word, class Real, class Whole>
void CodeCatalogueArrays<Byte, Word, Real, Whole>::check() const {
    const auto chunks = alive.size();
    require(bytes >= 1 && bytes <= kMostBits / 8, "catalogue: codes must have 1 to 64 bytes");
    require(chunks < (size_t(1) << 25), "catalogue: at most 2^31 items");
    require_size("codes", codes.size(), chunks * kChunkItems * static_cast<size_t>(bytes));
    require_size("position", position.size(), chunks * kChunkItems);
    require_size("bias", bias.size(), chunks * kChunkItems);
    require_size("gain", gain.size(), chunks * kChunkItems);
    require_size("chunk_bias", chunk_bias.size(), chunks);
    require_size("chunk_most", chunk_most.size(), chunks);
    require_size("chunk_least", chunk_least.size(), chunks);
    require_size("inverse_most", inverse_most.size(), chunks);
    require_size("inverse_least", inverse_least.size(), chunks);
    require_size("chunk_first", chunk_first.size(), chunks);
}
template struct CodeCatalogueArrays<const uint8_t, const uint64_t, const float, const int32_t>;
template struct CodeCatalogueArrays<uint8_t, uint64_t, float, int32_t>;

void arrange(std::span<const uint8_t> codes, std::span<const float> gains, std::span<const float> biases,
             std::span<const int32_t> positions, double weight, const NewCodeCatalogue& out) {
    out.check();
    const auto bytes = static_cast<size_t>(out.bytes);
    require(codes.size() == biases.size() * bytes, "one code an item is needed");
    require(std::all_of(gains.begin(), gains.end(), [](float g) { return std::isfinite(g); }), "gains must be finite");
    const std::vector<Chunk> chunks = make_chunks(biases, gains, positions, weight);
    require(out.alive.size() == chunks.size(), "catalogue: room for " + std::to_string(out.alive.size()) +
                                                   " chunks, expected " + std::to_string(chunks.size()));
    std::fill(out.codes.begin(), out.codes.end(), uint8_t(0));
    std::fill(out.position.begin(), out.position.end(), -1);
    std::fill(out.bias.begin(), out.bias.end(), 0.0f);
    std::fill(out.gain.begin(), out.gain.end(), 0.0f);
    for (size_t c = 0; c < chunks.size(); ++c) {
        const Chunk& chunk = chunks[c];
        float most = 0, least = kInfinity;
        for (size_t i = 0; i < chunk.items.size(); ++i) {
            const auto item = static_cast<size_t>(chunk.items[i]);
            const size_t place = c * kChunkItems + i;
            for (size_t j = 0; j < bytes; ++j) out.codes[(c * bytes + j) * kChunkItems + i] = codes[item * bytes + j];
            out.position[place] = positions[item];
            out.bias[place] = biases[item];
            out.gain[place] = gains[item];
            most = std::max(most, gains[item]);
            least = std::min(least, gains[item]);
        }
        out.alive[c] = first_bits(chunk.items.size());
        out.chunk_bias[c] = chunk.bias;
        out.chunk_most[c] = most;
        out.chunk_least[c] = least;
        out.inverse_most[c] = inverse_of_most(most);
        out.inverse_least[c] = inverse_of_least(least);
        out.chunk_first[c] = chunk.first;
    }
}

}  // namespace bitfm
