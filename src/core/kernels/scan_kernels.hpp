// What the search of catalogues compiles once per instruction set.
#pragma once

#include <cstdint>

namespace bitfm {

// A catalogue of codes, in chunks of 64 items: byte j of the 64 codes side by side.
constexpr int kChunkItems = 64;

struct CodeChunks {
    int bytes;              // of a code
    bool far;               // whether there are more codes than a cache holds
    const uint8_t* codes;   // [chunk][byte][item]
    const uint64_t* alive;  // which items count
    // What the items of a chunk reach at best: its largest bias, and one over its largest and smallest gain.
    const float* bias;
    const float* inverse_most;
    const float* inverse_least;
};

// Queries that share a pass over the chunks. An item whose code costs c steps scores no more than
// bias + gain · (upper_bound − c) / inverse_step.
constexpr int kTile = 8;                   // of them
constexpr int kMostCost = 127;             // of a nibble
constexpr int kNoHit = -1, kAllHit = 255;  // limits beyond which nothing needs to be counted

struct QueryTile {
    int n;                     // of kTile; the thresholds of the others are inf
    int max_cost;              // the limit of those that have none: kAllHit, or 254 if no item costs more
    int half_scan_limit;       // up to this limit, half of a code nearly always tells that an item is no hit
    const uint8_t* tables;     // [query][nibble of a code][16]: steps
    float threshold[kTile];    // the score to reach
    float upper_bound[kTile];  // what a perfect match is worth, in steps
    float inverse_step[kTile];
    // What the scan found. A hit's budget is limit + 1 less its cost, unless the limit is kAllHit.
    int32_t limits[kTile];
    uint64_t hits[kTile];
    alignas(64) uint8_t budget[kTile][kChunkItems];
};

// A catalogue of vectors, in chunks of 64 items: their leading dimensions as whole numbers, a pair of them side by
// side.
struct VectorChunks {
    int pairs;              // of dimensions
    const int8_t* values;   // [chunk][pair][item][2]
    const int16_t* start;   // [chunk][item]: -kOffset Σ values
    const uint64_t* alive;  // which items count
    // Of a chunk: the largest bias; one over what a whole number stands for; the largest length of what is kept, of
    // what rounding it has lost, and of the dimensions that are left out.
    const float *bias, *inverse_step, *length, *error, *rest;
    // The same again in nibbles, kNibbleOffset too large, or none: [chunk][pair][item % 32][2], the items from 32 on
    // in the upper nibbles.
    const uint8_t* nibbles;
    const float *nibble_inverse_step, *nibble_error;
};

constexpr int kNibbleOffset = 8;
constexpr int kOffset = 64;            // queries are from 0 to 2 kOffset
constexpr float kMostGoal = 32766;     // no product reaches it
constexpr float kGoalSlack = 0.0625f;  // what single-precision arithmetic may lose in a goal, and more

struct VectorTile {
    int n;
    const uint32_t* values;                                               // [query][pair]: two bytes, twice
    const uint32_t* plain_values;                                         // of the first query: without kOffset
    int32_t plain_sum;                                                    // of these
    float threshold[kTile];                                               // the score to reach
    float inverse_step[kTile], length[kTile], error[kTile], rest[kTile];  // as of chunks
    uint64_t hits[kTile];                                                 // what the scan found
};

struct ScanKernels {
    // The first chunk of [begin, end) with an item that may reach a query's threshold, or end; `hits` tells which.
    int64_t (*scan_codes)(const CodeChunks&, QueryTile&, int64_t begin, int64_t end);
    int64_t (*scan_vectors)(const VectorChunks&, VectorTile&, int64_t begin, int64_t end);
    // Σ a b in double precision, in the same order on every machine.
    double (*exact_product)(const float* a, const float* b, int64_t width);
    // Of 64 bytes, which exceed `least`.
    uint64_t (*above)(const uint8_t* bytes, uint8_t least);
};

}  // namespace bitfm
