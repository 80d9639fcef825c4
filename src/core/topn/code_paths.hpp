// The search of a catalogue of codes, for queries that are codes and for queries that are vectors.
//
// Both give each nibble of a code a cost in steps for the scan, and work out the exact interaction of the few items
// that the scan lets through.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "topn/code_catalogue.hpp"
#include "topn/queries.hpp"

namespace bitfm {

class CodePath {
  public:
    using Items = CodeCatalogue;

    CodePath(const CodeCatalogue& items, int max_cost, int half_scan_limit);

    int64_t scan(const ScanKernels& kernels, int64_t begin, int64_t end) {
        return kernels.scan_codes(chunks_, tile_, begin, end);
    }
    uint64_t hits(int lane) const { return tile_.hits[lane]; }
    void set_threshold(int lane, float score) {
        if (usable_[lane]) tile_.threshold[lane] = score;
    }

  protected:
    void restart(int n);
    uint8_t* table(int lane) { return tables_.data() + lane * items_.bytes * 32; }
    // A query whose steps cannot be inverted well takes the long way: everything hits.
    void set_steps(int lane, double upper_bound, double step);
    const uint8_t* code_at(int64_t place) const {
        return items_.codes.data() + place / kChunkItems * items_.bytes * kChunkItems + place % kChunkItems;
    }
    // Of a chunk's hits, those whose cost could win by what `most(cost)` says of the chunk's best item of that cost.
    // Ties with the worst that is kept may be many, and a chunk of higher positions can do without them.
    template <class Most, class CanWin>
    uint64_t cheap_enough(const ScanKernels& kernels, int lane, Most&& most, CanWin&& can_win) const {
        const int limit = tile_.limits[lane];
        if (limit == kAllHit || can_win(most(limit))) return ~uint64_t(0);
        int in = -1, out = limit;
        if (limit > 0 && can_win(most(limit - 1))) in = limit - 1;
        while (out - in > 1) (can_win(most((in + out) / 2)) ? in : out) = (in + out) / 2;
        return in < 0 ? 0 : kernels.above(tile_.budget[lane], static_cast<uint8_t>(limit - in));
    }

    const CodeCatalogue& items_;
    CodeChunks chunks_;
    QueryTile tile_{};
    std::vector<uint8_t> tables_;
    bool usable_[kTile] = {};
};

// The query is a code with a gain: a bit that differs is a step, and the cost says all.
class CodeByCode : public CodePath {
  public:
    using Queries = CodeQueries;

    CodeByCode(const CodeCatalogue& items, const CodeQueries& queries);

    void start(int64_t first, int n);
    double score(const ScanKernels&, int lane, int64_t place) const {
        const int limit = tile_.limits[lane];
        const int cost = limit < kAllHit ? limit + 1 - tile_.budget[lane][place % kChunkItems] : count(lane, place);
        return static_cast<double>(items_.bias[place]) + interaction(lane, items_.gain[place], cost);
    }
    template <class CanWin>
    uint64_t within_reach(const ScanKernels& kernels, int lane, int64_t chunk, CanWin&& can_win) const {
        // The same operations as for an item, so never less than an item's score.
        const auto most = [&](int cost) {
            const float gain = 2 * cost <= bits() ? items_.chunk_most[chunk] : items_.chunk_least[chunk];
            return static_cast<double>(items_.chunk_bias[chunk]) + interaction(lane, gain, cost);
        };
        return cheap_enough(kernels, lane, most, can_win);
    }

  private:
    int bits() const { return items_.bytes * 8; }
    double interaction(int lane, float gain, int cost) const {
        return static_cast<double>(gain_[lane]) * static_cast<double>(gain) * (bits() - 2 * cost);
    }
    int count(int lane, int64_t place) const;

    const CodeQueries& queries_;
    const uint8_t* code_[kTile] = {};
    float gain_[kTile] = {};
};

// The query is a vector P: a bit that differs from P's sign costs 2 |p|, in steps rounded down, so that a cost never
// says too much. What an item is worth is added up from exact tables.
class CodeByVector : public CodePath {
  public:
    using Queries = RealQueries;

    CodeByVector(const CodeCatalogue& items, const RealQueries& queries);

    void start(int64_t first, int n);
    double score(const ScanKernels&, int lane, int64_t place) const;
    template <class CanWin>
    uint64_t within_reach(const ScanKernels&, int, int64_t, CanWin&&) const {
        return ~uint64_t(0);  // a cost is no more than a guess
    }

  private:
    void prepare(int lane, const float* p);

    const RealQueries& queries_;
    std::vector<double> sums_;  // Σ p b of each nibble
};

}  // namespace bitfm
