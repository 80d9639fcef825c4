// Codes and gains that reproduce a teacher's interactions over all pairs of rows, or of features.
#pragma once

#include <span>

#include "base/parallel.hpp"
#include "kernels/kernels.hpp"

namespace bitfm {

// The non-zeros of a field by column; empty spans: the identity.
struct Columns {
    std::span<const int64_t> start;
    std::span<const int32_t> row;
    std::span<const float> value;
};

// One pass over a field's features, each given its best code and, unless gains are to be kept, its best gain up to
// `most_gain` while all others stand. `error` (rows × bits) is kept up to date. Returns the number of flips.
int64_t distill_field(Team& team, std::span<uint8_t> codes, std::span<float> gains, int bits, std::span<float> error,
                      std::span<const float> hessian, std::span<const float> row_weight, const Columns& columns,
                      int passes, bool keep_gains, float most_gain);

// One pass over all features, each against all others; factors: the teacher's, features × width.
int64_t distill_pairs(Team& team, std::span<uint8_t> codes, std::span<float> gains, int bits,
                      std::span<const float> factors, int width, std::span<const float> weight, int passes);

}  // namespace bitfm
