#include "base/normal.hpp"

#include "base/isa.hpp"
#include "kernels/kernels.hpp"

namespace bitfm {

void fill_normal(uint64_t seed, int64_t first, std::span<float> out) {
    const auto pairs = static_cast<int64_t>(out.size() / 2);
    isa().kernels->fill_normal_pairs(seed, static_cast<uint64_t>(first), pairs, out.data());
    if (out.size() % 2) {
        float last[2];
        isa().kernels->fill_normal_pairs(seed, static_cast<uint64_t>(first + 2 * pairs), 1, last);
        out.back() = last[0];
    }
}

}  // namespace bitfm
