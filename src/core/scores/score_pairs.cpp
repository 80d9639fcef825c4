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

constexpr int64_t kGrain = 128;     // pairs at a time
constexpr int64_t kIdGrain = 4096;  // ... that are ids alone
constexpr int64_t kNear = 1 << 19;  // bytes that are taken to be in the second-level cache
constexpr size_t kLongField = 8;    // features from which on a field is worth summing by itself

// The field of a block that has no other, at hand.
struct OnlyField {
    int64_t first = 0;
    const int64_t* indptr = nullptr;  // none: there are others, or it is an identity or in double precision
    const int32_t* indices = nullptr;
    const float* values = nullptr;
    bool equal = false;
};

template <class Real>
OnlyField only_field(const Design<Real>& design, const Block& block) {
    if constexpr (std::is_same_v<Real, float>)
        if (block.n_fields == 1) {
            const Field<Real>& field = design.fields[static_cast<size_t>(block.first_field)];
            return {field.first, field.indptr.data(), field.indices.data(), field.values.data(), field.equal};
        }
    return {};
}

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

    // One part of a row, if it can be.
    bool add_one(const OnlyField& field, int64_t row) {
        const int64_t from = field.indptr[row], n = field.indptr[row + 1] - from;
        if (n == 0 || n > kMostEntries) return false;
        parts_.push_back({field.first, field.indices + from, field.values + from, n, field.equal});
        return true;
    }

    // A part per field, since a field's features often count the same; the short ones together. Returns their number.
    int32_t add(const Design<Real>& design, size_t block, int64_t row) {
        const Block& of = design.blocks[block];
        const auto r = static_cast<size_t>(row);
        const size_t before = parts_.size(), first_copied = columns_.size();
        for (int f = of.first_field; f < of.first_field + of.n_fields; ++f) {
            const Field<Real>& field = design.fields[static_cast<size_t>(f)];
            if (field.identity) {
                copy(field.first + row, 1);
                continue;
            }
            if (field.dense) {
                field.visit_dense(row, [&](int64_t column, Real x) {
                    copy(field.first + column, x);
                    return false;
                });
                continue;
            }
            const auto from = static_cast<size_t>(field.indptr[r]), to = static_cast<size_t>(field.indptr[r + 1]);
            if constexpr (std::is_same_v<Real, float>)
                if (to - from >= kLongField) {
                    for (size_t p = from; p < to; p += kMostEntries)
                        parts_.push_back({field.first, field.indices.data() + p, field.values.data() + p,
                                          static_cast<int64_t>(std::min<size_t>(to - p, kMostEntries)), field.equal});
                    continue;
                }
            for (size_t p = from; p < to; ++p) copy(field.first + field.indices[p], field.values[p]);
        }
        for (size_t p = first_copied; p < columns_.size(); p += kMostEntries) {
            copied_.emplace_back(parts_.size(), p);
            parts_.push_back(
                {0, nullptr, nullptr, static_cast<int64_t>(std::min<size_t>(columns_.size() - p, kMostEntries))});
        }
        return static_cast<int32_t>(parts_.size() - before);
    }

    // All the parts, and empty ones after them.
    const RowEntries* finish() {
        for (const auto& [part, at] : copied_) {
            parts_[part].column = columns_.data() + at;
            parts_[part].x = x_.data() + at;
        }
        parts_.resize(parts_.size() + kPartsAhead);
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

// Numbers of as many bits, in whole cache lines.
template <class Number>
struct alignas(64) Lines {
    Number at[kSumsAtOnce];
};

// The pairs of one thread.
template <class Real>
class PairScorer {
  public:
    PairScorer(const Design<Real>& design, const PairTable& table, bool cross)
        : design_(design),
          table_(table),
          cross_(cross),
          slots_(design.blocks.size() * kSlots),
          sums_(design.blocks.size() * kPairsAtOnce) {
        const size_t each = static_cast<size_t>((table.width + kSumsAtOnce - 1) / kSumsAtOnce);
        q_.resize(slots_.size() * each);
        excess_.resize(slots_.size() * each);
        for (size_t i = 0; i < slots_.size(); ++i) {
            slots_[i].q = q_[i * each].at;
            slots_[i].excess = excess_[i * each].at;
        }
        for (const Block& block : design.blocks) {
            rows_.push_back(block.rows.data());
            only_.push_back(only_field(design, block));
        }
    }

    void score(int64_t begin, int64_t end, double bias, std::span<double> out) {
        const size_t n_blocks = design_.blocks.size();
        entries_.clear();
        n_parts_.resize(static_cast<size_t>(end - begin) * n_blocks);
        int32_t* n_parts = n_parts_.data();
        for (int64_t s = begin; s < end; ++s)
            for (size_t b = 0; b < n_blocks; ++b) {
                const int32_t* row = rows_[b] + s;
                // A user's pairs often come one after another.
                if (s > begin && row[0] == row[-1])
                    *n_parts++ = PairRows::kUnchanged;
                else if (only_[b].indptr && entries_.add_one(only_[b], *row))
                    *n_parts++ = 1;
                else
                    *n_parts++ = entries_.add(design_, b, *row);
            }
        const PairRows rows{.n_parts = n_parts_.data(),
                            .parts = entries_.finish(),
                            .n_pairs = end - begin,
                            .n_blocks = static_cast<int>(n_blocks),
                            .slots = slots_.data(),
                            .sums = sums_.data()};
        isa().kernels->pairs.score_rows(table_, rows, bias, cross_, out.data() + begin);
    }

  private:
    const Design<Real>& design_;
    const PairTable& table_;
    bool cross_;
    std::vector<const int32_t*> rows_;  // of each block
    std::vector<OnlyField> only_;
    std::vector<RowSums> slots_;
    std::vector<RowSums*> sums_;
    std::vector<Lines<float>> q_;
    std::vector<Lines<int16_t>> excess_;
    Entries<Real> entries_;
    std::vector<int32_t> n_parts_;  // of each row
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
    std::vector<PairScorer<Real>> scorers;
    scorers.reserve(static_cast<size_t>(team.size()));
    for (int t = 0; t < team.size(); ++t) scorers.emplace_back(design, table, cross);
    team.run(design.n, kGrain, [&](int64_t begin, int64_t end, int thread) {
        scorers[static_cast<size_t>(thread)].score(begin, end, bias, out);
    });
}

#define BITFM_INSTANTIATE(Real) \
    template void score_pairs(Team&, const Design<Real>&, PairTable, double, bool, std::span<double>);
BITFM_INSTANTIATE(float)
BITFM_INSTANTIATE(double)

}  // namespace bitfm
