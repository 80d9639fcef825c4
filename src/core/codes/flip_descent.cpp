#include "codes/flip_descent.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>

#include "base/error.hpp"
#include "base/isa.hpp"

namespace bitfm {

namespace {

constexpr int kFinestFraction = 20;
constexpr int64_t kGrain = 64, kInteractionGrain = 16384;

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
bool FlipDescent<Real>::fits(const TrainingSet<Real>& set) {
    return set.blocks.size() == 2 && set.blocks[0].bare && set.blocks[1].bare && set.weight.empty();
}

template <class Real>
int FlipDescent<Real>::inner(const TrainingSet<Real>& set, int64_t s) const {
    const uint64_t* a = sides_[0].codes.data() + int64_t(set.blocks[0].row_of[s]) * words_;
    const uint64_t* b = sides_[1].codes.data() + int64_t(set.blocks[1].row_of[s]) * words_;
    int differing = 0;
    for (int w = 0; w < words_; ++w) differing += __builtin_popcountll(a[w] ^ b[w]);
    return bits_ - 2 * differing;
}

template <class Real>
void FlipDescent<Real>::prepare(Team& team, const TrainingSet<Real>& set, std::span<const Real> residual,
                                std::span<const uint8_t> codes, int bits) {
    bits_ = bits;
    words_ = words_for(bits);
    const size_t split = static_cast<size_t>(set.design.blocks[0].n_rows) * static_cast<size_t>(bits / 8);
    pack_words(codes.subspan(0, split), bits, words_, sides_[0].codes);
    pack_words(codes.subspan(split), bits, words_, sides_[1].codes);

    // The finest grid on which every target fits 30 bits.
    std::vector<double> largest(static_cast<size_t>(set.size() / kInteractionGrain) + 1);
    team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        double most = 0;
        for (int64_t s = begin; s < end; ++s)
            most = std::max(most, std::abs(static_cast<double>(residual[s]) + inner(set, s)));
        largest[begin / kInteractionGrain] = most;
    });
    const double most = *std::max_element(largest.begin(), largest.end()) + bits + 1;
    require(most < std::ldexp(1.0, 30), "targets are too large for fixed point: scale them to a few times the bits");
    fraction_ = std::clamp(static_cast<int>(std::floor(30 - std::log2(most))), 0, kFinestFraction);
    const double unit = std::ldexp(1.0, fraction_);
    largest_ = static_cast<int64_t>(std::ceil(most * unit));

    // The first side's places are the interactions themselves; the second side's follow its order.
    const auto n = static_cast<size_t>(set.size());
    auto& by_first = sides_[0].target;
    by_first.resize(n);
    team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s)
            by_first[s] = static_cast<int32_t>(std::lrint((static_cast<double>(residual[s]) + inner(set, s)) * unit));
    });
    const auto& order = set.blocks[1].order;
    if (!order.empty()) {
        const bool known = !sides_[1].partner.empty();
        if (!known) sides_[1].partner.resize(n);
        sides_[1].target.resize(n);
        team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
            for (int64_t place = begin; place < end; ++place) {
                const auto s = static_cast<size_t>(order[place]);
                sides_[1].target[place] = by_first[s];
                if (!known) sides_[1].partner[place] = set.blocks[0].row_of[s];
            }
        });
    }
    ready_ = true;
}

template <class Real>
int64_t FlipDescent<Real>::sweep(Team& team, const TrainingSet<Real>& set, std::span<Real> residual,
                                 std::span<uint8_t> codes, int bits, std::span<const float> delegate, double beta,
                                 int passes) {
    if (bits != bits_) settle(team, set, residual);
    if (!ready_ || bits != bits_) prepare(team, set, residual, codes, bits);
    std::atomic<int64_t> flips{0};
    for (int side = 0; side < 2; ++side) {
        const int64_t n_rows = set.design.blocks[side].n_rows;
        const auto& start = set.blocks[side].start;
        int64_t longest = 0;
        for (size_t r = 0; r + 1 < start.size(); ++r) longest = std::max(longest, start[r + 1] - start[r]);
        const int64_t before = side == 0 ? 0 : set.design.blocks[0].n_rows;
        const bool in_order = set.blocks[side].order.empty();
        const FlipInput in{.start = start.data(),
                           .partner = in_order ? set.blocks[1 - side].row_of.data() : sides_[side].partner.data(),
                           .target = in_order ? sides_[0].target.data() : sides_[side].target.data(),
                           .partner_codes = sides_[1 - side].codes.data(),
                           .codes = sides_[side].codes.data(),
                           .words = words_,
                           .bits = bits_,
                           .fraction = fraction_,
                           .largest = largest_,
                           .delegate = delegate.data() + before * bits,
                           .beta = beta,
                           .passes = passes};
        const auto scratch_size = static_cast<size_t>(longest + 1) * (72 * static_cast<size_t>(words_) + 2) + 64;
        std::vector<std::vector<uint64_t>> scratch(static_cast<size_t>(team.size()));
        team.run(n_rows, kGrain, [&](int64_t begin, int64_t end, int thread) {
            auto& own = scratch[thread];
            if (own.empty()) own.resize(scratch_size / 8 + 1);
            flips +=
                isa().kernels->codes.update_flip_rows(in, reinterpret_cast<unsigned char*>(own.data()), begin, end);
        });
    }
    const size_t split = static_cast<size_t>(set.design.blocks[0].n_rows) * static_cast<size_t>(bits / 8);
    unpack_words(sides_[0].codes, bits, words_, codes.subspan(0, split));
    unpack_words(sides_[1].codes, bits, words_, codes.subspan(split));
    if (flips) stale_ = true;
    return flips;
}

template <class Real>
void FlipDescent<Real>::settle(Team& team, const TrainingSet<Real>& set, std::span<Real> residual) {
    if (!stale_) return;
    // The first side's places are the interactions themselves, so its targets give the residuals back.
    const double unit = std::ldexp(1.0, -fraction_);
    team.run(set.size(), kInteractionGrain, [&](int64_t begin, int64_t end, int) {
        for (int64_t s = begin; s < end; ++s)
            residual[s] = static_cast<Real>(sides_[0].target[s] * unit - inner(set, s));
    });
    stale_ = false;
}

template class FlipDescent<float>;
template class FlipDescent<double>;

}  // namespace bitfm
