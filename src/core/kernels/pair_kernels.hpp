// What scoring pairs from tables of features compiles once per instruction set.
#pragma once

#include <cstdint>

namespace bitfm {

// A table of features to score pairs from: wherever they are, a feature's vector, weight and scale.
struct PairTable {
    // Codes, of which the scale is the gain; float32; int8 times the scale.
    enum class Kind { codes, reals, bytes };
    Kind kind = Kind::codes;
    bool records = false;  // all of a feature in one place
    bool far = true;       // whether codes are worth asking for ahead of time: not if they are in the cache anyway
    int width = 0;         // of a vector; of numbers, a multiple of 64
    const uint8_t *vectors = nullptr, *weights = nullptr, *scales = nullptr;
    int64_t vector_stride = 0, weight_stride = 0, scale_stride = 0;  // bytes
};

// Some of a row's non-zeros: columns of a field whose first is feature `first`.
constexpr int64_t kMostEntries = 255;  // what a byte can count

struct RowEntries {
    int64_t first = 0;
    const int32_t* column = nullptr;
    const float* x = nullptr;
    int64_t n = 0;
    bool equal = false;  // whether all x are known to be the same
};

constexpr int kSumsAtOnce = 64;

// What a row of a block sums to, with room for a multiple of kSumsAtOnce, in whole cache lines.
struct alignas(64) RowSums {
    float* q = nullptr;  // Σ x v
    int16_t* excess =
        nullptr;  // ... over `amount`, if `counted`: of each bit, features that have it less ones that do not
    float amount = 0;
    bool counted = false, summed = false;  // whether it is known as excess, and as numbers
    // What the row contributes by itself: Σ x w in eight sums, added up as late as can be, and the rest.
    double own = 0;
    alignas(64) double linear[8] = {};
};

// The rows of pairs are summed first and multiplied afterwards, so that none waits for the other.
constexpr int kPairsAtOnce = 8;
constexpr int kSlots = kPairsAtOnce + 1;  // for rows of a block, the last of which may be the next pair's too

// How far ahead of time memory is asked for codes: tried, one part is too late where the table is large.
constexpr int kPartsAhead = 2;

// Rows of pairs one after another, block after block: how many parts each has, or that it is the row before.
struct PairRows {
    static constexpr int32_t kUnchanged = -1;
    const int32_t* n_parts;
    const RowEntries* parts;  // and after them kPartsAhead without entries
    int64_t n_pairs;
    int n_blocks;
    RowSums* slots;  // kSlots for each block
    RowSums** sums;  // room for the rows of kPairsAtOnce
};

// A block whose rows are ids: row r is feature `first` + r.
struct IdBlock {
    int64_t first;
    const int32_t* rows;  // of each pair
};

// All of a row's non-zeros, in double precision: a feature's code counts x · gain.
struct CodeRow {
    const int64_t* feature;
    const double* amount;
    int64_t n;
};

struct PairKernels {
    // Scores of pairs; `cross` leaves out pairs of features within a block.
    void (*score_rows)(const PairTable&, const PairRows&, double bias, bool cross, double* out);
    // Scores of pairs [begin, end) of ids, by codes or reals: of two codes, by the bits that differ.
    void (*score_ids)(const PairTable&, const IdBlock* blocks, int n_blocks, double bias, int64_t begin, int64_t end,
                      double* out);
    // Add to 8 n_bytes sums what the codes of a row come to, feature after feature; and Σ a b of such sums.
    void (*add_codes)(const uint8_t* codes, int n_bytes, const CodeRow&, double* sums);
    double (*wide_product)(const double* a, const double* b, int width);
};

}  // namespace bitfm
