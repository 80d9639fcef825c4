// What a solver needs beside the design: interactions by row, non-zeros by column, targets.
#pragma once

#include <vector>

#include "base/parallel.hpp"
#include "design/design.hpp"
#include "kernels/kernels.hpp"

namespace bitfm {

template <class Real>
class TrainingSet {
  public:
    TrainingSet(const Design<Real>& design, std::span<const Real> targets, std::span<const Real> weights);

    // The interactions are kept in the order of a block's rows: the first's, unless another has one for each.
    struct BlockIndex {
        std::vector<int64_t> start;   // of each row's interactions
        std::vector<int32_t> order;   // the interactions by row; empty: already in order
        std::vector<int32_t> row_of;  // of each interaction
        bool bare = false;            // a single identity field
        bool direct = false;          // interaction s is row s: a plain matrix
    };
    // Columns of one field; empty for an identity.
    struct FieldIndex {
        std::vector<int64_t> start;
        std::vector<int32_t> row;
        std::vector<Real> value;
        bool dense = false;    // all columns have the same rows, which are listed once
        bool one_hot = false;  // no two columns meet in a row, so they can be updated side by side
    };

    const Design<Real>& design;
    std::vector<BlockIndex> blocks;
    std::vector<FieldIndex> fields;
    std::vector<int32_t> source;  // the caller's interaction at each place; empty: the same
    std::vector<Real> target;
    std::vector<Real> weight;  // empty: all 1

    int64_t size() const { return design.n; }
    int64_t source_of(int64_t place) const { return source.empty() ? place : source[place]; }
    Column<Real> column(size_t field, int64_t column) const;
};

}  // namespace bitfm
