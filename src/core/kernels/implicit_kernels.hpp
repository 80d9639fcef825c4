// What fits to events compile once per instruction set.
#pragma once

#include <cstdint>

namespace bitfm {

// The code of one item, which is a level per dimension: min over levels q of s² q'Mq − 2 s q'r, s being the gain.
struct LevelDescent {
    int64_t n;             // dimensions
    const float* hessian;  // M, with rows of `stride` numbers
    int64_t stride;
    float gain;
    // The levels of a dimension are those of its number of bits, rising; `first` says where they begin in `values`.
    const int32_t* first;
    const int32_t* count;
    const float* values;
    int passes;
    float* error;  // r − s M q, kept up to date
    float* level;  // q
};

struct ImplicitKernels {
    // Σ a b, by eight sums that are added up in one order.
    float (*dot)(const float* a, const float* b, int64_t n);
    // y += scale x.
    void (*add_scaled)(float* y, float scale, const float* x, int64_t n);
    // out += Σ |value| ⟨row, v⟩ row over the rows of a matrix that `index` names.
    void (*add_products)(const float* rows, int64_t width, const int32_t* index, const float* value, int64_t n,
                         const float* v, float* out);
    // out += Σ |value| (y − ⟨row, v⟩) row and squares += Σ |value| row², y being 1, or 0 where the value is below 0.
    void (*add_lacking)(const float* rows, int64_t width, const int32_t* index, const float* value, int64_t n,
                        const float* v, float* out, float* squares);
    // Solves U'Z = B in place; U is the upper triangle of an n × n matrix, B has n rows of `width` numbers.
    void (*solve_forward)(const float* u, int64_t n, float* b, int64_t width);
    // Gives each dimension in turn its best level; returns how many levels changed in the last pass.
    int64_t (*descend_levels)(const LevelDescent& descent);
    // How many bits two sets have in common.
    int64_t (*count_common)(const uint64_t* a, const uint64_t* b, int64_t n_words);
};

}  // namespace bitfm
