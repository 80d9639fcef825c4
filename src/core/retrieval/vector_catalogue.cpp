#include "retrieval/vector_catalogue.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/sizes.hpp"
#include "retrieval/chunks.hpp"

namespace bitfm {

namespace {

constexpr int kMostDimensions = 1 << 14;
constexpr double kMore = 1 + 0x1p-20;  // bounds are rounded up by so much
constexpr double kLongest = 175;       // of an item in whole numbers; a query's is 185: products stay below 2^15
constexpr double kTurnError = 1e-9;    // what turning a vector may lose of its length

double length_of(std::span<const double> v) {
    double sum = 0;
    for (double x : v) sum += x * x;
    return std::sqrt(sum);
}

float bound(double x) {
    return static_cast<float>(x * kMore);
}

}  // namespace

void VectorSizes::check() const {
    require(dimensions >= 1 && dimensions <= kMostDimensions, "catalogue: vectors must have 1 to " +
                                                                  std::to_string(kMostDimensions) +
                                                                  " dimensions, got " + std::to_string(dimensions));
    require(leading >= 2 && leading % 2 == 0 && leading <= dimensions + 1,
            "catalogue: the leading dimensions must be an even number, at most one more than all, got " +
                std::to_string(leading));
    require(chunks >= 0, "catalogue: the number of chunks must be from 0 up, got " + std::to_string(chunks));
    require_at_most(static_cast<size_t>(chunks), kMostItems / kChunkItems, "a catalogue", "chunks of items");
    require(nibble_chunks == 0 || nibble_chunks == chunks, "catalogue: nibbles are of all chunks or of none");
    require(sum_chunks == 0 || sum_chunks == chunks, "catalogue: 'kept' is of all chunks or of none");
    require(some_vectors >= 0 && some_vectors <= slots(), "catalogue: there are more vectors than slots");
}

// Directions have length one, so a one on the diagonal leaves nothing beside it; to look at all would take a single
// query longer than its scan.
Basis::Basis(std::span<const double> directions, int dimensions, int leading)
    : directions_(directions), plain_(dimensions == leading) {
    const auto n = static_cast<size_t>(leading);
    for (size_t t = 0; plain_ && t < n; ++t) plain_ = directions[t * n + t] == 1.0;
}

double Basis::project(std::span<const float> vector, std::span<double> out) const {
    if (plain_) {
        std::copy(vector.begin(), vector.end(), out.begin());
        return 0;
    }
    std::fill(out.begin(), out.end(), 0.0);
    double all = 0, kept = 0;
    for (size_t i = 0; i < vector.size(); ++i) {
        const auto x = static_cast<double>(vector[i]);
        all += x * x;
        for (size_t t = 0; t < out.size(); ++t) out[t] += x * directions_[i * out.size() + t];
    }
    for (double x : out) kept += x * x;
    return std::sqrt(std::max(all - kept, 0.0)) + kTurnError * std::sqrt(all);
}

namespace {

// What a nibble's integer stands for in a chunk, and what rounding to it loses at most.
struct NibbleStep {
    double step, error;
};

int nibble_of(double x, double step) {
    return static_cast<int>(std::clamp(std::nearbyint(x / step), -double(kNibbleOffset), double(kNibbleOffset - 1)));
}

// Cutting off the largest values lets all others be rounded less: the best step is shorter than the largest asks for.
NibbleStep nibble_step(std::span<const double> projected, size_t lead, std::span<const int32_t> items, double largest,
                       double least) {
    NibbleStep best{0, std::numeric_limits<double>::infinity()};
    for (double part = 1; part > 0.3; part -= 0.1) {
        const double step = std::max(part * largest / (kNibbleOffset - 1), least);
        double lost = 0;
        for (int32_t item : items) {
            double error = 0;
            for (double x : projected.subspan(static_cast<size_t>(item) * lead, lead)) {
                const double off = x - nibble_of(x, step) * step;
                error += off * off;
            }
            lost = std::max(lost, std::sqrt(error));
        }
        if (lost < best.error) best = {step, lost};
    }
    return best;
}

}  // namespace

std::vector<int16_t> starts_of(std::span<const int8_t> values, int64_t chunks) {
    require(chunks >= 0, "catalogue: the number of chunks must be from 0 up, got " + std::to_string(chunks));
    require_at_most(static_cast<size_t>(chunks), kMostItems / kChunkItems, "a catalogue", "chunks of items");
    constexpr auto kPair = static_cast<size_t>(2 * kChunkItems);
    const size_t pairs = chunks ? values.size() / (static_cast<size_t>(chunks) * kPair) : 0;
    require(values.size() == static_cast<size_t>(chunks) * pairs * kPair && pairs <= kMostDimensions,
            "catalogue: 'values' must be pairs of numbers of all items");
    std::vector<int16_t> out(static_cast<size_t>(chunks * kChunkItems));
    for (size_t c = 0; c < static_cast<size_t>(chunks); ++c) {
        int32_t sums[kChunkItems] = {};
        for (size_t t = 0; t < pairs; ++t)
            for (size_t i = 0; i < static_cast<size_t>(kChunkItems); ++i)
                sums[i] += values[(c * pairs + t) * kPair + 2 * i] + values[(c * pairs + t) * kPair + 2 * i + 1];
        for (size_t i = 0; i < static_cast<size_t>(kChunkItems); ++i)
            out[c * kChunkItems + i] = static_cast<int16_t>(-kOffset * sums[i]);
    }
    return out;
}

VectorArrays<Owned> arrange(Matrix<const float> vectors, std::span<const float> biases,
                            std::span<const int32_t> positions, Matrix<const double> basis, double weight,
                            bool with_nibbles) {
    const size_t n = biases.size();
    require_at_most(n, kMostItems, "a catalogue", "items");
    require(vectors.columns <= kMostDimensions && basis.rows == vectors.columns && basis.columns <= kMostDimensions,
            "catalogue: the basis must have a row for each dimension of the vectors");
    require(vectors.rows == static_cast<int64_t>(n), "one vector per item is needed");
    const auto all = vectors.all();
    require(std::all_of(all.begin(), all.end(), [](float x) { return std::isfinite(x); }),
            "vectors must be finite numbers");
    const auto axes = basis.all();
    require(std::all_of(axes.begin(), axes.end(), [](double x) { return std::isfinite(x); }),
            "the basis must be finite numbers");
    VectorSizes sizes{.dimensions = static_cast<int>(vectors.columns), .leading = static_cast<int>(basis.columns)};
    sizes.check();
    const auto width = static_cast<size_t>(sizes.dimensions), lead = static_cast<size_t>(sizes.leading);
    std::vector<double> projected(n * lead), rests(n);
    std::vector<float> lengths(n);
    const Basis leading(basis.all(), sizes.dimensions, sizes.leading);
    for (size_t i = 0; i < n; ++i) {
        const std::span to = std::span(projected).subspan(i * lead, lead);
        rests[i] = leading.project(all.subspan(i * width, width), to);
        lengths[i] = bound(std::hypot(length_of(to), rests[i]));
    }
    const std::vector<Chunk> chunks = make_chunks(biases, lengths, positions, weight);
    sizes.chunks = static_cast<int64_t>(chunks.size());
    sizes.nibble_chunks = with_nibbles ? sizes.chunks : 0;
    sizes.check();
    VectorArrays<Owned> out;
    VectorCatalogue::each(out, sizes,
                          [](const char*, auto& array, const Shape& shape) { array.resize(size_of(shape)); });
    std::fill(out.position.begin(), out.position.end(), -1);
    std::copy_n(basis.data, out.basis.size(), out.basis.data());
    for (size_t c = 0; c < chunks.size(); ++c) {
        const Chunk& chunk = chunks[c];
        double longest = 0, largest = 0, rest = 0, lost = 0;
        for (int32_t item : chunk.items) {
            const std::span v = std::span(projected).subspan(static_cast<size_t>(item) * lead, lead);
            longest = std::max(longest, length_of(v));
            for (double x : v) largest = std::max(largest, std::abs(x));
            rest = std::max(rest, rests[static_cast<size_t>(item)]);
        }
        const double half_steps = 0.5 * std::sqrt(static_cast<double>(lead));  // that rounding may add to a length
        const double least = 1e-30;  // shorter ones are as good as nothing, and their inverse is a number
        const double longest_step = std::max(longest / (kLongest - half_steps), least);
        const double step = std::max(longest_step, largest / 127);
        for (size_t i = 0; i < chunk.items.size(); ++i) {
            const auto item = static_cast<size_t>(chunk.items[i]);
            const size_t slot = c * kChunkItems + i;
            double error = 0;
            int sum = 0;
            for (size_t t = 0; t < lead; ++t) {
                const double x = projected[item * lead + t], whole = std::nearbyint(x / step);
                error += (x - whole * step) * (x - whole * step);
                sum += static_cast<int>(whole);
                out.values[(c * lead + t / 2 * 2) * kChunkItems + 2 * i + t % 2] = static_cast<int8_t>(whole);
            }
            lost = std::max(lost, std::sqrt(error));
            out.start[slot] = static_cast<int16_t>(-kOffset * sum);
            out.position[slot] = positions[item];
            out.bias[slot] = biases[item];
            std::copy_n(vectors.row(chunk.items[i]), width, out.vectors.data() + slot * width);
        }
        if (with_nibbles) {
            const NibbleStep nibble = nibble_step(projected, lead, chunk.items, largest, longest_step);
            for (size_t i = 0; i < chunk.items.size(); ++i)
                for (size_t t = 0; t < lead; ++t) {
                    const double x = projected[static_cast<size_t>(chunk.items[i]) * lead + t];
                    const auto whole = static_cast<unsigned>(nibble_of(x, nibble.step) + kNibbleOffset);
                    uint8_t& to = out.nibbles[(c * lead + t / 2 * 2) * kChunkItems / 2 + 2 * (i % 32) + t % 2];
                    to = static_cast<uint8_t>(to | whole << (i / 32 * 4));
                }
            out.nibble_inverse_step[c] = static_cast<float>(1 / nibble.step);
            out.nibble_error[c] = bound(nibble.error);
        }
        out.live[c] = first_bits(chunk.items.size());
        out.chunk_bias[c] = chunk.bias;
        out.inverse_step[c] = static_cast<float>(1 / step);
        out.length[c] = bound(longest);
        out.error[c] = bound(lost);
        out.rest[c] = bound(rest);
        out.chunk_first[c] = chunk.first;
    }
    return out;
}

}  // namespace bitfm
