#include "retrieval/check.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/sizes.hpp"

namespace bitfm {

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Not require(): its message would be made for every number.
#define BITFM_EXPECT(condition, message) \
    if (!(condition)) throw BadInput(std::string("catalogue: ") + message)

bool is_length(float x) {
    return x >= 0 && x < kInfinity;
}

// Positions and biases, which all catalogues have. visit(chunk, slot) for each item, done(chunk) after those of a
// chunk.
template <class Catalogue, class Visit, class Done>
void check_chunks(const Catalogue& c, int64_t n_positions, Visit&& visit, Done&& done) {
    n_positions = std::max<int64_t>(n_positions, 0);
    require_at_most(static_cast<size_t>(n_positions), INT32_MAX, "a catalogue", "positions");
    std::vector<bool> seen(static_cast<size_t>(n_positions));
    for (int64_t chunk = 0; chunk < c.chunks; ++chunk) {
        float bias = -kInfinity;
        int32_t first = std::numeric_limits<int32_t>::max();
        for (int64_t i = 0; i < kChunkItems; ++i) {
            const int64_t slot = chunk * kChunkItems + i;
            const int32_t position = c.position[slot];
            BITFM_EXPECT(position != -1 || !(c.live[chunk] >> i & 1), "a slot without an item is live");
            if (position == -1) continue;
            BITFM_EXPECT(
                position >= 0 && position < n_positions,
                "the position " + std::to_string(position) + " is not from 0 to " + std::to_string(n_positions - 1));
            BITFM_EXPECT(!seen[static_cast<size_t>(position)],
                         "the position " + std::to_string(position) + " occurs twice");
            seen[static_cast<size_t>(position)] = true;
            BITFM_EXPECT(std::isfinite(c.bias[slot]), "'bias' must be finite numbers");
            bias = std::max(bias, c.bias[slot]);
            first = std::min(first, position);
            visit(chunk, slot);
        }
        BITFM_EXPECT(c.chunk_bias[chunk] == bias, "'chunk_bias' is not the largest bias of a chunk");
        BITFM_EXPECT(c.chunk_first[chunk] == first, "'chunk_first' is not the lowest position of a chunk");
        done(chunk);
    }
}

}  // namespace

void check_items(const CodeCatalogue& c, int64_t n_positions) {
    float most = 0, least = kInfinity;
    check_chunks(
        c, n_positions,
        [&](int64_t, int64_t slot) {
            BITFM_EXPECT(is_length(c.gain[slot]), "'gain' must be finite numbers from 0 up");
            most = std::max(most, c.gain[slot]);
            least = std::min(least, c.gain[slot]);
        },
        [&](int64_t chunk) {
            BITFM_EXPECT(c.chunk_most[chunk] == most && c.chunk_least[chunk] == least &&
                             c.inverse_most[chunk] == inverse_of_most(most) &&
                             c.inverse_least[chunk] == inverse_of_least(least),
                         "the gains of a chunk are not between those it names");
            most = 0;
            least = kInfinity;
        });
}

void check_items(const VectorCatalogue& c, int64_t n_positions) {
    BITFM_EXPECT(std::all_of(c.basis.begin(), c.basis.end(), [](double x) { return std::isfinite(x); }),
                 "'basis' must be finite numbers");
    int32_t kept = 0;
    for (int64_t chunk = 0; chunk < c.sum_chunks; ++chunk) {
        BITFM_EXPECT(c.kept_before[static_cast<size_t>(chunk)] == kept, "'kept_before' does not fit 'kept'");
        kept += std::popcount(c.kept[static_cast<size_t>(chunk)]);
    }
    BITFM_EXPECT(!c.sum_chunks || kept == c.some_vectors, "'kept' does not fit 'vectors'");
    BITFM_EXPECT(!c.sum_chunks || (c.sums && c.sums->n_rows() >= n_positions && c.sums->width() == c.dimensions),
                 "there must be features of all items whose vectors are not kept");
    BITFM_EXPECT(std::all_of(c.vectors.begin(), c.vectors.end(), [](float x) { return std::isfinite(x); }),
                 "'vectors' must be finite numbers");
    check_chunks(
        c, n_positions,
        [&](int64_t chunk, int64_t slot) {
            int sum = 0;
            for (int t = 0; t < c.leading; ++t)
                sum += c.values[(chunk * c.leading + t / 2 * 2) * kChunkItems + slot % kChunkItems * 2 + t % 2];
            BITFM_EXPECT(c.start[slot] == static_cast<int16_t>(-kOffset * sum), "'start' does not fit 'values'");
        },
        [&](int64_t chunk) {
            BITFM_EXPECT(is_length(c.length[chunk]) && is_length(c.error[chunk]) && is_length(c.rest[chunk]) &&
                             is_length(c.inverse_step[chunk]),
                         "lengths, errors and steps must be finite numbers from 0 up");
            if (c.nibble_chunks)
                BITFM_EXPECT(is_length(c.nibble_error[chunk]) && is_length(c.nibble_inverse_step[chunk]),
                             "errors and steps of nibbles must be finite numbers from 0 up");
        });
}

}  // namespace bitfm
