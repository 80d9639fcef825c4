// What a search is asked, and what it answers.
#pragma once

#include <cstdint>
#include <span>

#include "retrieval/top.hpp"

namespace bitfm {

struct CodeQueries {
    std::span<const uint8_t> codes;  // a row per query
    std::span<const float> gains;
    std::span<const double> constants;

    void check(int64_t width) const;  // of the items' vectors, in bits
};

struct RealQueries {
    std::span<const float> vectors;  // a row per query
    std::span<const double> constants;

    void check(int64_t width) const;
};

// Per query, the positions that must not be returned, in rising order.
struct Exclusions {
    std::span<const int64_t> start;  // empty: nothing is excluded
    std::span<const int32_t> position;

    bool hold(int64_t query, int32_t position) const;
    void check(int64_t n_queries) const;
};

// Per query, positions whose scores are known already, in rising order; `slot_of` says where each position of the
// catalogue is, -1 for nowhere.
struct Scored {
    std::span<const int64_t> start;  // empty: none
    std::span<const int32_t> position;
    std::span<const float> score;
    std::span<const int32_t> slot_of;

    bool hold(int64_t query, int32_t position) const;
    void check(int64_t n_queries, int64_t n_slots) const;
};

struct Found {
    int64_t n;                    // per query
    std::span<int64_t> position;  // n_queries × n; -1 where there are no more
    std::span<float> score;       // -inf there

    void check(int64_t n_queries) const;
    void write(int64_t query, std::span<const RankKey> best) const;
};

}  // namespace bitfm
