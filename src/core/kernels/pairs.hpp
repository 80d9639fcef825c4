// Scores of pairs straight from a table of features: what the features of a row sum to, and products of that.
//
// Lane t of a sum takes the features in a written order, so all instruction sets round alike.
#pragma once

#include "kernels/code_counts.hpp"
#include "kernels/code_sums.hpp"
#include "kernels/number_sums.hpp"

namespace bitfm::BITFM_ISA {
namespace {

double sum_squares(const PairTable& table, const RowEntries& row) {
    const Features features(table, row.first);
    double sum[4] = {};  // one would be waited for at each step
    int64_t j = 0;
    const auto add = [&](int64_t at, double& to) BITFM_INLINE_LAMBDA {
        const auto amount = double(row.x[at] * features.scale(row.column[at]));
        to += amount * amount;
    };
    for (; j + 4 <= row.n; j += 4)
        for (int i = 0; i < 4; ++i) add(j + i, sum[i]);
    for (; j < row.n; ++j) add(j, sum[0]);
    return ((sum[0] + sum[1]) + (sum[2] + sum[3])) * table.width;
}

// Σ a b in single precision, sixteen sums side by side; the width is a multiple of 8.
BITFM_INLINE float short_product(const float* a, const float* b, int width) {
    Lanes<float> first = Lanes<float>::fill(0), second = first;
    int t = 0;
    for (; t + 2 * kLanes <= width; t += 2 * kLanes) {
        first += Lanes<float>::load(a + t) * Lanes<float>::load(b + t);
        second += Lanes<float>::load(a + t + kLanes) * Lanes<float>::load(b + t + kLanes);
    }
    if (t < width) first += Lanes<float>::load(a + t) * Lanes<float>::load(b + t);
    return (first + second).sum();
}

BITFM_INLINE void to_numbers(RowSums& sums, int width) {
    if (sums.summed) return;
    for (int t = 0; t < width; ++t) sums.q[t] = sums.amount * float(sums.excess[t]);
    sums.summed = true;
}

BITFM_INLINE double product(RowSums& a, RowSums& b, int width) {
    if (a.counted && b.counted)
        return double(a.amount) * double(b.amount) * double(whole_product(a.excess, b.excess, width));
    to_numbers(a, width);
    to_numbers(b, width);
    return double(short_product(a.q, b.q, width));
}

// A row of codes: counted if it is one part whose features count the same, and else summed.
template <bool kRecord, bool kFar>
BITFM_INLINE void sum_codes(const PairTable& table, const RowEntries* parts, int n_parts, RowSums& out) {
    Lanes<double> linear = Lanes<double>::fill(0);
    out.counted = n_parts == 1 && count_row<kRecord, kFar>(table, parts[0], parts[kPartsAhead], out, linear);
    out.summed = !out.counted;
    if (out.summed)
        for (int p = 0; p < n_parts; ++p) {
            const bool first = p == 0;
            if (n_parts > 1 && count_row<kRecord, kFar>(table, parts[p], parts[p + kPartsAhead], out, linear)) {
                for (int t = 0; t < table.width; ++t) {
                    const float amount = out.amount * float(out.excess[t]);
                    out.q[t] = first ? amount : out.q[t] + amount;
                }
                continue;
            }
            const RowEntries nothing;  // to ask for again
            for (int at = 0; at < (kRecord ? 8 : table.width / 8); at += 8)
                add_word<kRecord, kFar>(table, parts[p], at ? nothing : parts[p + kPartsAhead], at, first, out.q,
                                        linear);
        }
    linear.store(out.linear);
}

template <class Number, bool kPlain>
BITFM_INLINE void sum_rows_of(const PairTable& table, const RowEntries* parts, int n_parts, RowSums& out) {
    out.summed = true;
    Lanes<double>::fill(0).store(out.linear);
    for (int p = 0; p < n_parts; ++p)
        if (parts[p].equal)
            sum_numbers<Number, kPlain, true>(table, parts[p], parts[p + 1], p == 0, out);
        else
            sum_numbers<Number, kPlain, false>(table, parts[p], parts[p + 1], p == 0, out);
}

template <bool kValue>
struct Is {
    static constexpr bool value = kValue;
};

// sum(parts, n_parts, row) sums a row.
template <class Sum>
BITFM_INLINE void score_rows_by(const PairTable& table, int width, const PairRows& rows, double bias, bool cross,
                                double* out, Sum&& sum) {
    const int n_blocks = rows.n_blocks;
    const int32_t* n_parts = rows.n_parts;
    const RowEntries* parts = rows.parts;
    RowSums** const last = rows.sums + (kPairsAtOnce - 1) * n_blocks;  // of the pair before these
    for (int b = 0; b < n_blocks; ++b) last[b] = rows.slots + b * kSlots;
    for (int64_t begin = 0; begin < rows.n_pairs; begin += kPairsAtOnce) {
        const int n = int(rows.n_pairs - begin < kPairsAtOnce ? rows.n_pairs - begin : kPairsAtOnce);
        RowSums** to = rows.sums;
        for (int s = 0; s < n; ++s) {
            for (int b = 0; b < n_blocks; ++b, ++to, ++n_parts) {
                RowSums *before = s ? to[-n_blocks] : last[b], *first = rows.slots + b * kSlots;
                const int of_row = *n_parts;
                if (of_row == PairRows::kUnchanged) {
                    *to = before;
                    continue;
                }
                *to = before + 1 == first + kSlots ? first : before + 1;
                RowSums& row = **to;
                row.own = 0;
                if (of_row) {
                    sum(parts, of_row, row);
                } else {
                    row.counted = false;
                    row.summed = true;
                    Lanes<double>::fill(0).store(row.linear);
                    for (int t = 0; t < width; ++t) row.q[t] = 0;
                }
                if (!cross) {
                    double pairs = product(row, row, width);
                    for (int p = 0; p < of_row; ++p) pairs -= sum_squares(table, parts[p]);
                    row.own += pairs / 2;
                }
                parts += of_row;
            }
        }
        for (int s = 0; s < n; ++s) {
            RowSums* const* of_pair = rows.sums + s * n_blocks;
            double score = bias;
            for (int b = 0; b < n_blocks; ++b) {
                score += of_pair[b]->own + Lanes<double>::load(of_pair[b]->linear).sum();
                for (int c = 0; c < b; ++c) score += product(*of_pair[c], *of_pair[b], width);
            }
            out[begin + s] = score;
        }
    }
}

void score_rows(const PairTable& table, const PairRows& rows, double bias, bool cross, double* out) {
    const auto by = [&](int width, auto sum)
                        BITFM_INLINE_LAMBDA { score_rows_by(table, width, rows, bias, cross, out, sum); };
    const auto by_codes = [&](auto record, auto far, int width) BITFM_INLINE_LAMBDA {
        by(width, [&](const RowEntries* parts, int n, RowSums& row)
                      BITFM_INLINE_LAMBDA { sum_codes<record.value, far.value>(table, parts, n, row); });
    };
    const auto by_numbers = [&](auto number, auto plain) BITFM_INLINE_LAMBDA {
        by(plain.value ? kSumsAtOnce : table.width,
           [&](const RowEntries* parts, int n, RowSums& row)
               BITFM_INLINE_LAMBDA { sum_rows_of<decltype(number), plain.value>(table, parts, n, row); });
    };
    switch (table.kind) {
        case PairTable::Kind::codes:
            if (!table.records || table.width > kSumsAtOnce || table.vector_stride != 16)
                return by_codes(Is<false>{}, Is<true>{}, table.width);
            // Shorter codes have zeros after them, whose sums nobody looks at.
            if (table.width < kSumsAtOnce)
                return table.far ? by_codes(Is<true>{}, Is<true>{}, table.width)
                                 : by_codes(Is<true>{}, Is<false>{}, table.width);
            return table.far ? by_codes(Is<true>{}, Is<true>{}, kSumsAtOnce)
                             : by_codes(Is<true>{}, Is<false>{}, kSumsAtOnce);
        case PairTable::Kind::reals:
            return table.width == kSumsAtOnce && !table.records ? by_numbers(float{}, Is<true>{})
                                                                : by_numbers(float{}, Is<false>{});
        case PairTable::Kind::bytes:
            return by_numbers(int8_t{}, Is<false>{});
    }
}

BITFM_INLINE int differing_bits(const uint8_t* a, const uint8_t* b, int n_bytes) {
    int n = 0, at = 0;
    for (; at + 8 <= n_bytes; at += 8) {
        uint64_t first, second;
        __builtin_memcpy(&first, a + at, 8);
        __builtin_memcpy(&second, b + at, 8);
        n += __builtin_popcountll(first ^ second);
    }
    for (; at < n_bytes; ++at) n += __builtin_popcount(unsigned(a[at] ^ b[at]));
    return n;
}

// kBytes of a code, or 0 where they are not known beforehand; reals have none.
template <bool kCodes, int kBytes>
void score_ids_of(const PairTable& table, const IdBlock* blocks, int n_blocks, double bias, int64_t begin, int64_t end,
                  double* out) {
    constexpr int64_t kAhead = 24;
    const int n_bytes = kBytes ? kBytes : table.width / 8;
    const Features features(table, 0);
    for (int64_t s = begin; s < end; ++s) {
        double score = bias;
        for (int b = 0; b < n_blocks; ++b) {
            if (s + kAhead < end) {
                const int64_t coming = blocks[b].first + blocks[b].rows[s + kAhead];
                if (kCodes)
                    features.ask_for<1>(coming);
                else
                    features.ask_for<4, false>(coming);
            }
            const int64_t feature = blocks[b].first + blocks[b].rows[s];
            score += double(features.weight(feature));
            for (int c = 0; c < b; ++c) {
                const int64_t other = blocks[c].first + blocks[c].rows[s];
                const uint8_t *one = features.vector(other), *two = features.vector(feature);
                if constexpr (kCodes)
                    score += double(features.scale(other)) * double(features.scale(feature)) *
                             double(table.width - 2 * differing_bits(one, two, n_bytes));
                else
                    score += double(short_product(reinterpret_cast<const float*>(one),
                                                  reinterpret_cast<const float*>(two), table.width));
            }
        }
        out[s] = score;
    }
}

void score_ids(const PairTable& table, const IdBlock* blocks, int n_blocks, double bias, int64_t begin, int64_t end,
               double* out) {
    if (table.kind == PairTable::Kind::reals)
        score_ids_of<false, 0>(table, blocks, n_blocks, bias, begin, end, out);
    else if (table.width == 64 || (table.width < 64 && table.records))  // shorter codes have zeros after them
        score_ids_of<true, 8>(table, blocks, n_blocks, bias, begin, end, out);
    else
        score_ids_of<true, 0>(table, blocks, n_blocks, bias, begin, end, out);
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
