// What the solvers of codes compile once per instruction set.
#pragma once

#include <cstdint>

namespace bitfm {

constexpr int kMostBits = 512;  // of a code

// Two blocks of bare ids with ±1 codes, in fixed point: the rows of one side against the codes of the other.
struct FlipInput {
    const int64_t* start;    // of a row's interactions
    const int32_t* partner;  // row of the other side, per interaction
    const int32_t* target;   // y − bias − weights in units of 2^-fraction, per interaction
    const uint64_t* partner_codes;
    uint64_t* codes;  // updated
    int words;        // 64-bit words per code
    int bits;
    int fraction;
    int64_t largest;        // no |residual| exceeds it, in units of 2^-fraction
    const float* delegate;  // D, row by row (bits wide)
    double beta;
    int passes;
};

// Codes distilled from a teacher, row by row: the columns of one field of a block. A row's error is what its vector
// lacks, seen through the other blocks: E = C p − H P, with p the teacher's vector of the row, P = Σ x g b ours, H = Σ
// Q Q' and C = Σ Q q' over the other blocks' rows.
struct DistilledField {
    int bits;
    int passes;
    const int64_t* start;  // of the columns' non-zeros; null: column j is row j alone
    const int32_t* row;
    const float* value;  // null: all 1
    const float* row_weight;
    const float* hessian;  // bits × bits
    float* error;          // rows × bits, kept up to date
    uint8_t* codes;        // updated
    float* gains;          // updated, unless
    bool keep_gains;
    float most_gain = 3e38f;
};

// ... and feature by feature: every feature against all others.
struct DistilledPairs {
    int bits;
    int width;  // of the teacher's vectors, a multiple of 8
    int passes;
    const float* weight;   // of a feature
    const float* factors;  // features × width
    float* gram;           // Σ weight g² b b', kept up to date
    float* cross;          // Σ weight g b v', likewise
    uint8_t* codes;        // updated
    float* gains;          // updated
};

struct CodeKernels {
    // Discrete coordinate descent on rows [begin, end); `scratch` holds 72 × words + 2 bytes per interaction of
    // the longest row, and one more.
    int64_t (*update_flip_rows)(const FlipInput&, unsigned char* scratch, int64_t begin, int64_t end);
    int64_t (*distill_columns)(const DistilledField&, int64_t begin, int64_t end);
    int (*distill_feature)(const DistilledPairs&, int64_t feature);

    // For the D-step: gram += Σ row row' (lower part), and out = rows · transform; width is a multiple of 8.
    void (*add_gram)(const double* rows, int n, int width, double* gram);
    void (*map_rows)(const double* rows, int n, int width, const double* transform, double* out);
};

}  // namespace bitfm
