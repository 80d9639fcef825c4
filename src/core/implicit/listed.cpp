#include "implicit/listed.hpp"

#include <vector>

#include "base/error.hpp"
#include "parameters/bits.hpp"

namespace bitfm {

void score_listed(Team& team, const CodedItems& items, Matrix<const float> queries, std::span<const double> scales,
                  const ListedItems& listed, std::span<float> scores) {
    constexpr int64_t kGrain = 16, kAhead = 8;
    const int64_t bytes = items.codes.columns, n_queries = queries.rows;
    require(queries.columns == bits_of_bytes(static_cast<size_t>(bytes)), "queries need one number per bit of a code");
    require(static_cast<int64_t>(items.gains.size()) == items.codes.rows && items.weights.size() == items.gains.size(),
            "one code, gain and weight per item are needed");
    require(static_cast<int64_t>(scales.size()) == n_queries, "one scale per query is needed");
    listed.lists.check(n_queries, items.codes.rows);
    require(listed.added.size() == listed.lists.member.size() && scores.size() == listed.added.size(),
            "one number and one score per listed item are needed");
    team.run(n_queries, kGrain, [&](int64_t begin, int64_t end, int) {
        std::vector<double> sums(static_cast<size_t>(bytes * 32));  // ⟨b, z⟩ of each nibble
        for (int64_t query = begin; query < end; ++query) {
            const int64_t first = listed.lists.start[query], last = listed.lists.start[query + 1];
            if (first == last) continue;
            const float* z = queries.row(query);
            for (int64_t nibble = 0; nibble < 2 * bytes; ++nibble)
                for (int64_t value = 0; value < 16; ++value) {
                    double sum = 0;
                    for (int64_t t = 0; t < 4; ++t) {
                        const double x = z[nibble * 4 + t];
                        sum += value >> t & 1 ? x : -x;
                    }
                    sums[static_cast<size_t>(nibble * 16 + value)] = sum;
                }
            for (int64_t i = first; i < last; ++i) {
                if (i + kAhead < last) __builtin_prefetch(items.codes.row(listed.lists.member[i + kAhead]));
                const int32_t item = listed.lists.member[i];
                const uint8_t* code = items.codes.row(item);
                double even = 0, odd = 0;
                for (int64_t j = 0; j < bytes; ++j) {
                    even += sums[static_cast<size_t>(j * 32 + (code[j] & 15))];
                    odd += sums[static_cast<size_t>(j * 32 + 16 + (code[j] >> 4))];
                }
                scores[i] = static_cast<float>(scales[query] * items.weights[item] +
                                               static_cast<double>(items.gains[item]) * (even + odd) + listed.added[i]);
            }
        }
    });
}

}  // namespace bitfm
