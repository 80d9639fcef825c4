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
};

constexpr int kSumsAtOnce = 64;

struct RowSums {
    float* q;           // Σ x v, with room for a multiple of kSumsAtOnce
    double linear = 0;  // Σ x w
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
    // What the features of a row sum to, given in parts, and after these one that comes next; and of codes, Σ |x v|².
    void (*sum_features)(const PairTable&, const RowEntries* parts, int64_t n_parts, RowSums*);
    double (*sum_squares)(const PairTable&, const RowEntries&);
    // Σ a b in single precision, in the same order on every machine; the width is a multiple of 8.
    float (*short_product)(const float* a, const float* b, int width);
    // Scores of pairs [begin, end) of ids, by codes or reals: of two codes, by the bits that differ.
    void (*score_ids)(const PairTable&, const IdBlock* blocks, int n_blocks, double bias, int64_t begin, int64_t end,
                      double* out);
    // Add to 8 n_bytes sums what the codes of a row come to, feature after feature; and Σ a b of such sums.
    void (*add_codes)(const uint8_t* codes, int n_bytes, const CodeRow&, double* sums);
    double (*wide_product)(const double* a, const double* b, int width);
};

}  // namespace bitfm
