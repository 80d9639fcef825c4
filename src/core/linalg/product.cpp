#include "linalg/product.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"

namespace bitfm {

namespace {

// What a sum looks like: terms by 256, those by 64, those in order. None of it depends on the machine.
constexpr int64_t kDepth = 256, kSpan = kProductSpan;
constexpr int64_t kRows = 192;        // of a task; a multiple of every tile's
constexpr int64_t kSpansAtOnce = 16;  // whose sums are kept beside each other

// One task: some rows of the product over one span of terms.
template <class Real>
class Part {
  public:
    Part(const Strided<Real>& a, const Strided<Real>& b)
        : a_(a),
          b_(b),
          kernels_(isa().kernels->linalg<Real>()),
          left_(static_cast<size_t>(kRows * kDepth)),
          right_(static_cast<size_t>(kDepth * kernels_.tile_columns)),
          tile_(static_cast<size_t>(kernels_.tile_rows * kernels_.tile_columns)) {}

    // Adds to rows [begin, end) of `out`.
    void add(int64_t begin, int64_t end, int64_t first_term, int64_t last_term, Real* out) {
        const int64_t n = b_.columns, height = kernels_.tile_rows, width = kernels_.tile_columns;
        for (int64_t k = first_term; k < last_term; k += kDepth) {
            const int64_t depth = std::min(kDepth, last_term - k);
            for (int64_t i = begin; i < end; i += height)
                pack(a_.at(i, k), a_.column_stride, depth, a_.row_stride, std::min(height, end - i), height,
                     left_.data() + (i - begin) * depth);
            for (int64_t j = 0; j < n; j += width) {
                const int64_t columns = std::min(width, n - j);
                pack(b_.at(k, j), b_.row_stride, depth, b_.column_stride, columns, width, right_.data());
                for (int64_t i = begin; i < end; i += height) {
                    kernels_.multiply_tile(left_.data() + (i - begin) * depth, right_.data(), depth, tile_.data());
                    for (int64_t row = 0; row < std::min(height, end - i); ++row)
                        for (int64_t column = 0; column < columns; ++column)
                            out[(i + row) * n + j + column] += tile_[static_cast<size_t>(row * width + column)];
                }
            }
        }
    }

  private:
    // Lines of `size` numbers, one per term, filled up with zeros.
    static void pack(const Real* from, int64_t term_stride, int64_t terms, int64_t stride, int64_t n, int64_t size,
                     Real* to) {
        for (int64_t term = 0; term < terms; ++term, from += term_stride, to += size) {
            for (int64_t i = 0; i < n; ++i) to[i] = from[i * stride];
            std::fill(to + n, to + size, Real(0));
        }
    }

    const Strided<Real>&a_, &b_;
    const LinalgKernels<Real>& kernels_;
    std::vector<Real> left_, right_, tile_;
};

}  // namespace

template <class Real>
void multiply(Team& team, const Strided<Real>& a, const Strided<Real>& b, Real* out, bool more) {
    require(a.columns == b.rows, "the first matrix needs as many columns as the second has rows");
    const int64_t terms = a.columns, size = a.rows * b.columns, panels = (a.rows + kRows - 1) / kRows;
    if (size == 0) return;  // however many rows that are empty
    const int64_t spans = (terms + kSpan - 1) / kSpan;
    const int64_t in_place = more || spans == 0 ? 0 : 1;  // spans whose sum needs no room beside the product
    if (!more) std::fill(out, out + size, Real(0));
    std::vector<Real> sums(static_cast<size_t>(std::min(spans - in_place, kSpansAtOnce) * size));
    for (int64_t first = 0; first < spans; first += kSpansAtOnce) {
        const int64_t n = std::min(kSpansAtOnce, spans - first);
        std::fill(sums.begin(), sums.end(), Real(0));
        team.run(n * panels, 1, [&](int64_t begin, int64_t end, int) {
            Part<Real> part(a, b);
            for (int64_t task = begin; task < end; ++task) {
                const int64_t span = first + task / panels, row = task % panels * kRows;
                Real* to = span < in_place ? out : sums.data() + (span - std::max(first, in_place)) * size;
                part.add(row, std::min(row + kRows, a.rows), span * kSpan, std::min((span + 1) * kSpan, terms), to);
            }
        });
        for (int64_t span = std::max(first, in_place); span < first + n; ++span) {
            const Real* sum = sums.data() + (span - std::max(first, in_place)) * size;
            for (int64_t i = 0; i < size; ++i) out[i] += sum[i];
        }
    }
}

template void multiply(Team&, const Strided<float>&, const Strided<float>&, float*, bool);
template void multiply(Team&, const Strided<double>&, const Strided<double>&, double*, bool);

}  // namespace bitfm
