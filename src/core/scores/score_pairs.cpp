#include "scores/score_pairs.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"
#include "base/sizes.hpp"

namespace bitfm {

namespace {

constexpr int64_t kGrain = 64;      // pairs at a time
constexpr int64_t kIdGrain = 4096;  // ... that are ids alone
constexpr int64_t kNear = 1 << 19;  // bytes that are taken to be in the second-level cache
constexpr size_t kLongField = 8;    // features from which on a field is worth summing by itself

// The entries of some pairs' rows in parts, one after another: whatever is summed, what comes next is known.
template <class Real>
class Entries {
  public:
    void clear() {
        parts_.clear();
        copied_.clear();
        columns_.clear();
        x_.clear();
    }

    // A part per field, since a field's features often count the same; the short ones together. Returns their number.
    int64_t add(const Design<Real>& design, size_t block, int64_t row) {
        const size_t before = parts_.size(), first_copied = columns_.size();
        const Block& of = design.blocks[block];
        const auto r = static_cast<size_t>(row);
        for (int f = of.first_field; f < of.first_field + of.n_fields; ++f) {
            const Field<Real>& field = design.fields[static_cast<size_t>(f)];
            if (field.identity) {
                copy(field.first + row, 1);
                continue;
            }
            const auto from = static_cast<size_t>(field.indptr[r]), to = static_cast<size_t>(field.indptr[r + 1]);
            if constexpr (std::is_same_v<Real, float>)
                if (to - from >= kLongField) {
                    for (size_t p = from; p < to; p += kMostEntries)
                        parts_.push_back({field.first, field.indices.data() + p, field.values.data() + p,
                                          static_cast<int64_t>(std::min<size_t>(to - p, kMostEntries))});
                    continue;
                }
            for (size_t p = from; p < to; ++p) copy(field.first + field.indices[p], field.values[p]);
        }
        for (size_t p = first_copied; p < columns_.size(); p += kMostEntries) {
            copied_.emplace_back(parts_.size(), p);
            parts_.push_back(
                {0, nullptr, nullptr, static_cast<int64_t>(std::min<size_t>(columns_.size() - p, kMostEntries))});
        }
        return static_cast<int64_t>(parts_.size() - before);
    }

    // All the parts, and an empty one after them.
    const RowEntries* finish() {
        for (const auto& [part, at] : copied_) {
            parts_[part].column = columns_.data() + at;
            parts_[part].x = x_.data() + at;
        }
        parts_.push_back({});
        return parts_.data();
    }

  private:
    void copy(int64_t feature, Real x) {
        columns_.push_back(static_cast<int32_t>(feature));
        constexpr Real kMost = std::numeric_limits<float>::max();
        x_.push_back(static_cast<float>(std::clamp(x, -kMost, kMost)));
    }

    std::vector<RowEntries> parts_;
    std::vector<std::pair<size_t, size_t>> copied_;  // parts, and where in the following
    std::vector<int32_t> columns_;
    std::vector<float> x_;
};

// The pairs of one thread.
template <class Real>
class PairScorer {
  public:
    PairScorer(const Design<Real>& design, const PairTable& table, bool cross)
        : design_(design),
          table_(table),
          cross_(cross),
          stride_((table.width + kSumsAtOnce - 1) / kSumsAtOnce * kSumsAtOnce),
          q_(design.blocks.size() * static_cast<size_t>(stride_)),
          own_(design.blocks.size()) {}

    void score(int64_t begin, int64_t end, double bias, std::span<double> out) {
        const PairKernels& kernels = isa().kernels->pairs;
        const size_t n_blocks = design_.blocks.size();
        entries_.clear();
        n_parts_.clear();
        for (int64_t s = begin; s < end; ++s)
            for (size_t b = 0; b < n_blocks; ++b)
                n_parts_.push_back(changes(s, b, begin) ? entries_.add(design_, b, row_of(s, b)) : kUnchanged);
        const RowEntries* parts = entries_.finish();
        const int64_t* n_parts = n_parts_.data();
        for (int64_t s = begin; s < end; ++s) {
            double score = bias;
            for (size_t b = 0; b < n_blocks; ++b, ++n_parts) {
                if (*n_parts != kUnchanged) {
                    sum(kernels, b, parts, *n_parts);
                    parts += *n_parts;
                }
                score += own_[b];
                for (size_t c = 0; c < b; ++c)
                    score += static_cast<double>(kernels.short_product(q(c), q(b), table_.width));
            }
            out[static_cast<size_t>(s)] = score;
        }
    }

  private:
    static constexpr int64_t kUnchanged = -1;

    int32_t row_of(int64_t s, size_t block) const { return design_.blocks[block].rows[static_cast<size_t>(s)]; }
    // A user's pairs often come one after another.
    bool changes(int64_t s, size_t block, int64_t begin) const {
        return s == begin || row_of(s, block) != row_of(s - 1, block);
    }
    float* q(size_t block) { return q_.data() + block * static_cast<size_t>(stride_); }

    void sum(const PairKernels& kernels, size_t block, const RowEntries* parts, int64_t n_parts) {
        RowSums sums{q(block)};
        kernels.sum_features(table_, parts, n_parts, &sums);
        own_[block] = sums.linear;
        if (cross_) return;
        auto pairs = static_cast<double>(kernels.short_product(q(block), q(block), table_.width));
        for (int64_t p = 0; p < n_parts; ++p) pairs -= kernels.sum_squares(table_, parts[p]);
        own_[block] += pairs / 2;
    }

    const Design<Real>& design_;
    const PairTable& table_;
    bool cross_;
    int stride_;
    std::vector<float> q_;     // of each block's present row
    std::vector<double> own_;  // ... and what it contributes by itself
    Entries<Real> entries_;
    std::vector<int64_t> n_parts_;  // of each row
};

}  // namespace

template <class Real>
void score_pairs(Team& team, const Design<Real>& design, PairTable table, double bias, bool cross,
                 std::span<double> out) {
    const bool codes = table.kind == PairTable::Kind::codes;
    table.far = design.n_features * table.vector_stride > kNear;
    require(table.width > 0 && table.width % (codes ? 8 : kSumsAtOnce) == 0,
            codes ? "codes need whole bytes" : "vectors of numbers need a width that is a multiple of 64");
    require(codes || cross, "vectors of numbers are scored across blocks only");
    require(static_cast<int64_t>(out.size()) == design.n, "room for one score per pair is needed");
    require_at_most(static_cast<size_t>(design.n_features), kMostRows, "a model whose pairs are scored", "features");
    std::vector<IdBlock> ids;
    for (size_t b = 0; b < design.blocks.size() && design.bare(b); ++b)
        ids.push_back(
            {design.fields[static_cast<size_t>(design.blocks[b].first_field)].first, design.blocks[b].rows.data()});
    if (ids.size() == design.blocks.size() && table.kind != PairTable::Kind::bytes) {
        team.run(design.n, kIdGrain, [&](int64_t begin, int64_t end, int) {
            isa().kernels->pairs.score_ids(table, ids.data(), static_cast<int>(ids.size()), bias, begin, end,
                                           out.data());
        });
        return;
    }
    std::vector<PairScorer<Real>> scorers(static_cast<size_t>(team.size()), PairScorer<Real>(design, table, cross));
    team.run(design.n, kGrain, [&](int64_t begin, int64_t end, int thread) {
        scorers[static_cast<size_t>(thread)].score(begin, end, bias, out);
    });
}

#define BITFM_INSTANTIATE(Real) \
    template void score_pairs(Team&, const Design<Real>&, PairTable, double, bool, std::span<double>);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
