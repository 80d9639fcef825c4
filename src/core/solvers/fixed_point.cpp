#include "solvers/fixed_point.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace bitfm {

namespace {

constexpr int kFinestFraction = 20;
constexpr int64_t kInteractionGrain = 16384;

// Codes come as bytes; words of 64 bits, unused bits 0 on both sides, are what the kernels compare.
int words_for(int bits) {
    return bits <= 64 ? 1 : bits <= 128 ? 2 : bits <= 256 ? 4 : 8;
}

void pack_words(std::span<const uint8_t> bytes, int bits, int words, std::vector<uint64_t>& out) {
    const size_t per = static_cast<size_t>(bits / 8), n = bytes.size() / per;
    out.assign(n * static_cast<size_t>(words), 0);
    for (size_t i = 0; i < n; ++i)
        for (size_t byte = 0; byte < per; ++byte)
            out[i * static_cast<size_t>(words) + byte / 8] |= uint64_t(bytes[i * per + byte]) << (8 * (byte % 8));
}

void unpack_words(const std::vector<uint64_t>& words_of, int bits, int words, std::span<uint8_t> bytes) {
    const size_t per = static_cast<size_t>(bits / 8), n = bytes.size() / per;
    for (size_t i = 0; i < n; ++i)
        for (size_t byte = 0; byte < per; ++byte)
            bytes[i * per + byte] =
                static_cast<uint8_t>(words_of[i * static_cast<size_t>(words) + byte / 8] >> (8 * (byte % 8)));
}

}  // namespace

template <class Real>
bool FixedPoint<Real>::fits(const TrainingSet<Real>& set) {
    return set.blocks.size() == 2 && set.blocks[0].bare && set.blocks[1].bare;
}

template <class Real>
int FixedPoint<Real>::inner(const TrainingSet<Real>& set, int64_t s) const {
    const uint64_t* a = sides[0].codes.data() + int64_t(set.blocks[0].row_of[s]) * words;
    const uint64_t* b = sides[1].codes.data() + int64_t(set.blocks[1].row_of[s]) * words;
    int differing = 0;
    for (int w = 0; w < words; ++w) differing += __builtin_popcountll(a[w] ^ b[w]);
    return bits - 2 * differing;
}

template <class Real>
void FixedPoint<Real>::take(Team& team, const TrainingSet<Real>& set, std::span<const Real> residual,
                            std::span<const uint8_t> codes, int n_bits) {
    bits = n_bits;
    words = words_for(bits);
    const size_t split = static_cast<size_t>(set.design.blocks[0].n_rows) * static_cast<size_t>(bits / 8);
    pack_words(codes.subspan(0, split), bits, words, sides[0].codes);
    pack_words(codes.subspan(split), bits, words, sides[1].codes);

    // The finest grid on which every target fits 30 bits.
    std::vector<double> largest_of(static_cast<size_t>(set.size() / kInteractionGrain) + 1);
    team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        double most = 0;
        for (int64_t s = begin; s < end; ++s)
            most = std::max(most, std::abs(static_cast<double>(residual[s]) + inner(set, s)));
        largest_of[begin / kInteractionGrain] = most;
    });
    const double most = *std::max_element(largest_of.begin(), largest_of.end()) + bits + 1;
    require(most < std::ldexp(1.0, 30), "targets are too large for fixed point: scale them to a few times the bits");
    fraction = std::clamp(static_cast<int>(std::floor(30 - std::log2(most))), 0, kFinestFraction);
    const double unit = std::ldexp(1.0, fraction);
    largest = static_cast<int64_t>(std::ceil(most * unit));

    // The first side's places are the interactions themselves; the second side's follow its order.
    const auto n = static_cast<size_t>(set.size());
    auto& by_first = sides[0].target;
    by_first.resize(n);
    team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s)
            by_first[s] = static_cast<int32_t>(std::lrint((static_cast<double>(residual[s]) + inner(set, s)) * unit));
    });
    const auto& order = set.blocks[1].order;
    if (!order.empty()) {
        const bool known = !sides[1].partner.empty();
        if (!known) sides[1].partner.resize(n);
        sides[1].target.resize(n);
        team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t place = begin; place < end; ++place) {
                const auto s = static_cast<size_t>(order[place]);
                sides[1].target[place] = by_first[s];
                if (!known) sides[1].partner[place] = set.blocks[0].row_of[s];
            }
        });
    }
}

template <class Real>
void FixedPoint<Real>::write_residuals(Team& team, const TrainingSet<Real>& set, std::span<Real> residual) const {
    // The first side's places are the interactions themselves, so its targets give the residuals back.
    const double unit = std::ldexp(1.0, -fraction);
    team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s)
            residual[s] = static_cast<Real>(sides[0].target[s] * unit - inner(set, s));
    });
}

template <class Real>
void FixedPoint<Real>::write_codes(std::span<uint8_t> codes) const {
    const size_t split = sides[0].codes.size() / static_cast<size_t>(words) * static_cast<size_t>(bits / 8);
    unpack_words(sides[0].codes, bits, words, codes.subspan(0, split));
    unpack_words(sides[1].codes, bits, words, codes.subspan(split));
}

template struct FixedPoint<float>;
template struct FixedPoint<double>;

}  // namespace bitfm
