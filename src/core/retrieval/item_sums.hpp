// Vectors of items that are not in a file, but worked out when one is asked for: the sums of the codes of an item's
// features, Σ x g b, by tables of features as a model file has them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/whole_numbers.hpp"
#include "parameters/factor_view.hpp"

namespace bitfm {

// One field of the items, one row each. Sparse rows have `indptr` and `indices`, and `values` in one of two types, or
// none where all are 1/√n for the n of their row. Rows of words have a word as often as it occurs, one after the other,
// and `weights` of all words: an entry is count × weight, divided by the length of the row. `singles` are 1 + the
// column of the only entry, which is 1, or 0 for none. A dense field has rows × columns of values, in which 0 is no
// feature. An identity has none of these.
struct ItemField {
    enum class Form { identity, singles, sparse, words, dense };
    Form form = Form::identity;
    int64_t n_columns = 0;
    int64_t first = 0;  // its first column among all
    WholeNumbers singles, indptr, indices;
    std::span<const float> reals;
    std::span<const int8_t> wholes;
    std::span<const double> weights;
    float scale = 1;  // that `wholes` of a dense field are to be multiplied by
};

class ItemSums {
  public:
    // The features of a row, and what their codes are to be multiplied by.
    struct Terms {
        std::vector<int64_t> feature;
        std::vector<double> amount, sums;
        std::vector<float> vector;
    };

    ItemSums(const FactorView& factors, int64_t n_rows);

    void add(ItemField field);  // the fields come in the order of the features
    void check() const;         // that there are as many features as codes
    int64_t n_rows() const { return n_rows_; }
    int width() const { return factors_.width; }
    // How many features a row has, those of gain 0 included.
    int64_t n_terms(int64_t row) const;
    // Writes the vector of a row, rounded to floats once as where all of them are worked out together; 0 of a row
    // beyond the last.
    void sum(int64_t row, Terms& terms, std::span<float> out) const;
    // The same for a search, until its next call: most queries ask for the same few items, whose vectors are
    // remembered. Any number of threads may ask, each with terms of its own.
    const float* vector(int64_t row, Terms& terms) const;

  private:
    static constexpr int64_t kMostBytes = 1 << 26;  // of vectors that are remembered: the first that are asked for
    static constexpr int32_t kNone = 0, kBeingWritten = -1;

    const float* remembered(int32_t place) const { return vectors_.get() + int64_t(place - 1) * width(); }

    FactorView factors_;
    int64_t n_rows_;
    int64_t n_features_ = 0;
    std::vector<ItemField> fields_;
    int32_t capacity_;
    mutable std::atomic<int32_t> n_remembered_ = 0;
    mutable std::vector<std::atomic<int32_t>>
        place_;  // of each row: 1 + which of the vectors it is, or one of the above
    std::unique_ptr<float[]> vectors_;
};

}  // namespace bitfm
