// The kernels: inner loops that are compiled once per instruction set, and the plain structures they work on.
//
// A sweep updates eight factors (or bits) of every feature at a time, "a group". For an interaction s and a
// block, q is the block row's Σ x v and o_s the sum of the other blocks' q; a row is what its interactions
// share.
#pragma once

#include <cstdint>

namespace bitfm {

constexpr int kGroup = 8;

// How a feature's new values follow from its quadratic problem: min δ'Hδ − 2 g'δ over one lane after another.
// Shrinking takes the most likely value under a normal prior (ridge regression) or, given noise, draws one.
enum class Rule { shrink, flip };

template <class Real>
struct RuleInput {
    Rule rule = Rule::shrink;
    Real data_precision = 1;         // τ: what the data count against the prior
    Real prior_precision[kGroup]{};  // λ of each lane, of the field at hand
    Real prior_mean[kGroup]{};       // μ
    Real prior_pull[kGroup]{};       // λ μ
    const float* noise = nullptr;    // standard normal, eight a feature; null: no draw
    int passes = 1;                  // over the eight lanes
    const float* linear = nullptr;   // the group's first column of D, a row a feature; null: none
    int64_t linear_stride = 0;
    Real linear_scale = 0;  // β
};

// The interactions of a block, sorted by its rows.
template <class Real>
struct RowIndex {
    int64_t n;                        // interactions
    const int64_t* start;             // n_rows + 1
    const int32_t* order;             // interaction at each place; null: places are interactions
    const Real* weight;               // of an interaction; null: all 1
    int n_others;                     // the other blocks
    const int32_t* const* other_row;  // [block][interaction]
    const Real* const* other_q;       // [block][row * 8 + lane]
};

// What the features of one row need to know of the row's interactions, for a block whose rows are shared.
template <class Real>
struct alignas(64) RowState {
    Real sum_oo[kGroup * kGroup];  // Σ o_s o_s'
    Real sum_eo[kGroup];           // Σ e_s o_s, kept up to date
    Real q[kGroup];                // Σ x v of the row, kept up to date
    // What follows is for pairs within the row.
    Real sum_o[kGroup];  // Σ o_s
    Real count, sum_e;   // Σ 1, Σ e_s (kept up to date)
    Real shift;          // Σ δ'a so far: e_s falls by shift + (q − q at the start)'o_s
};

// A feature's problem, gathered over the rows it occurs in.
template <class Real>
struct Quadratic {
    Real hessian[kGroup * kGroup];
    Real gradient[kGroup];
};

// A stretch of one column of a table: its non-zeros.
template <class Real>
struct Column {
    const int32_t* row;
    const Real* value;  // null: all 1
    int64_t n;
};

template <class Real>
struct SweepKernels {
    // A block of bare ids: row r is feature r with x = 1. Updates v (rows × 8) and the residuals.
    int64_t (*update_bare)(const RowIndex<Real>&, const RuleInput<Real>&, Real* v, Real* residual, int64_t begin,
                           int64_t end);
    // Shared rows: fill the states of rows [begin, end) from their interactions; q must be set.
    void (*gather_rows)(const RowIndex<Real>&, const Real* residual, RowState<Real>*, int64_t begin, int64_t end);
    // ... add a column's share of a feature's problem, v being the feature's current values
    void (*collect_shared)(const RowState<Real>*, const Column<Real>&, const Real* v, bool cross, Quadratic<Real>*);
    // ... carry a feature's change δ = v_new − v into the rows
    void (*apply_shared)(RowState<Real>*, const Column<Real>&, const Real* v, const Real* delta, bool cross);
    // ... and the rows' changes into the residuals of their interactions; q0 is q at the start.
    void (*scatter_rows)(const RowIndex<Real>&, const RowState<Real>*, const Real* q0, Real* residual, int64_t begin,
                         int64_t end);
    // Rows that are interactions: total = q + o of the row (cross: o alone), updated unless cross.
    void (*collect_direct)(const Real* total, const Real* residual, const Real* weight, const Column<Real>&,
                           const Real* v, bool cross, Quadratic<Real>*);
    void (*apply_direct)(Real* total, Real* residual, const Column<Real>&, const Real* v, const Real* delta,
                         bool cross);
    // Solve a feature's problem; v becomes its new values, delta the change. Returns how many lanes changed.
    int (*solve)(const Quadratic<Real>&, const RuleInput<Real>&, int64_t feature, Real* v, Real* delta);
    // out_s += Σ_{b<c} ⟨q_b, q_c⟩ for interactions [begin, end): a group's share of the pairs across
    // blocks.
    void (*add_pairs)(int n_blocks, const int32_t* const* row, const Real* const* q, Real* out, int64_t begin,
                      int64_t end);
};

// Two blocks of bare ids with ±1 codes, in fixed point: the rows of one side against the codes of the other.
struct FlipInput {
    const int64_t* start;    // of a row's interactions
    const int32_t* partner;  // row of the other side, per interaction
    const int32_t* target;   // y − bias − weights in units of 2^-fraction, per interaction
    const uint64_t* partner_codes;
    uint64_t* codes;  // updated
    int words;        // 64-bit words a code
    int bits;
    int fraction;
    int64_t largest;        // no |residual| exceeds it, in units of 2^-fraction
    const float* delegate;  // D, row by row (bits wide)
    double beta;
    int passes;
};

struct FlipKernels {
    // Discrete coordinate descent on rows [begin, end); `scratch` holds 72 × words + 2 bytes an interaction of
    // the longest row, and one more.
    int64_t (*update_rows)(const FlipInput&, unsigned char* scratch, int64_t begin, int64_t end);
};

constexpr int kMostBits = 512;

// Codes anchored to a teacher, row by row: the columns of one field of a block. A row's error is what its vector lacks,
// seen through the other blocks: E = C p − H P, with p the teacher's vector of the row, P = Σ x g b ours,
// H = Σ Q Q' and C = Σ Q q' over the other blocks' rows.
struct AnchorField {
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
};

// ... and feature by feature: every feature against all others.
struct AnchorPairs {
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

// Plain stochastic gradient descent, as libFM does it.
template <class Real>
struct SgdInput {
    int n_fields;
    const int64_t* const* indptr;  // per field; null: identity
    const int32_t* const* indices;
    const Real* const* values;
    const int64_t* first;       // first feature of each field
    const int32_t* const* row;  // row of each interaction in the field's block
    const int* block;           // of each field
    int n_blocks;
    const Real* target;
    const Real* weight;    // null: all 1
    const int32_t* order;  // the interactions in the order to visit
    Real learning_rate;
    const Real* factor_ridge;  // per field
    const Real* linear_ridge;
    int rank;  // a multiple of 8
    bool cross;
};

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
// bias + gain · (reach − c) / inverse_step.
constexpr int kTile = 8;
constexpr int kMostCost = 127;             // of half a byte
constexpr int kNoHit = -1, kAllHit = 255;  // limits beyond which nothing needs to be counted

struct QueryTile {
    int n;                  // of kTile; the others want inf
    int most;               // the limit of those that have none: kAllHit, or 254 if no item costs more
    int low;                // up to this limit, half of a code nearly always tells that an item is no hit
    const uint8_t* tables;  // [query][half byte of a code][16]: steps
    float wanted[kTile];    // the score to reach
    float reach[kTile];
    float inverse_step[kTile];
    // What the scan found. A hit has left what its cost falls short of limit + 1, unless the limit is kAllHit.
    int32_t limits[kTile];
    uint64_t hits[kTile];
    alignas(64) uint8_t left[kTile][kChunkItems];
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
    // The same again in half bytes, kHalfOffset too large, or none: [chunk][pair][item % 32][2], the items from 32 on
    // in the upper halves.
    const uint8_t* halves;
    const float *half_inverse_step, *half_error;
};

constexpr int kHalfOffset = 8;
constexpr int kOffset = 64;            // queries are from 0 to 2 kOffset
constexpr float kMostGoal = 32766;     // no product reaches it
constexpr float kGoalSlack = 0.0625f;  // what single-precision arithmetic may lose in a goal, and more

struct VectorTile {
    int n;
    const uint32_t* values;                                               // [query][pair]: two bytes, twice
    const uint32_t* plain_values;                                         // of the first query: without kOffset
    int32_t plain_sum;                                                    // of these
    float wanted[kTile];                                                  // the score to reach
    float inverse_step[kTile], length[kTile], error[kTile], rest[kTile];  // as of chunks
    uint64_t hits[kTile];                                                 // what the scan found
};

// A table of features to score pairs from: wherever they are, a feature's vector, weight and scale.
struct PairTable {
    // Codes, of which the scale is the gain; float32; int8 times the scale.
    enum class Kind { codes, reals, bytes };
    Kind kind = Kind::codes;
    bool records = false;  // all of a feature in one place
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

struct Kernels {
    SweepKernels<float> sweep32;
    SweepKernels<double> sweep64;
    FlipKernels flips;
    // Visit order[begin, end); updates bias, weights and factors; `scratch` holds rank * (n_blocks + 1)
    // numbers.
    double (*sgd32)(const SgdInput<float>&, float* bias, float* weights, float* factors, float* scratch, int64_t begin,
                    int64_t end);
    double (*sgd64)(const SgdInput<double>&, double* bias, double* weights, double* factors, double* scratch,
                    int64_t begin, int64_t end);

    int64_t (*anchor_columns)(const AnchorField&, int64_t begin, int64_t end);
    int (*anchor_feature)(const AnchorPairs&, int64_t feature);

    // For the D-step: gram += Σ row row' (lower part), and out = rows · transform; width is a multiple of 8.
    void (*add_gram)(const double* rows, int n, int width, double* gram);
    void (*map_rows)(const double* rows, int n, int width, const double* transform, double* out);

    // The first chunk of [begin, end) with an item that may reach what a query wants, or end; `hits` tells which.
    int64_t (*scan_codes)(const CodeChunks&, QueryTile&, int64_t begin, int64_t end);
    int64_t (*scan_vectors)(const VectorChunks&, VectorTile&, int64_t begin, int64_t end);
    // Σ a b in double precision, in the same order on every machine.
    double (*exact_product)(const float* a, const float* b, int64_t width);
    // Of 64 bytes, which exceed `least`.
    uint64_t (*above)(const uint8_t* bytes, uint8_t least);

    // Add a row's features to its sums, and ask memory for the next ones; and of codes, Σ |x v|².
    void (*sum_features)(const PairTable&, const RowEntries& row, const RowEntries& next, RowSums*);
    double (*sum_squares)(const PairTable&, const RowEntries&);
    // Σ a b in single precision, in the same order on every machine; the width is a multiple of 8.
    float (*short_product)(const float* a, const float* b, int width);

    // Standard normal numbers, two at each of the places first, first + 2, …
    void (*fill_pairs)(uint64_t seed, uint64_t first, int64_t n_pairs, float* out);

    template <class Real>
    const SweepKernels<Real>& sweep() const {
        if constexpr (sizeof(Real) == 4)
            return sweep32;
        else
            return sweep64;
    }
};

const Kernels* kernels_portable();
const Kernels* kernels_avx2();
const Kernels* kernels_avx512();

}  // namespace bitfm
