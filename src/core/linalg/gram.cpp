#include "linalg/gram.hpp"

#include <algorithm>

namespace bitfm {

namespace {

constexpr int64_t kDepth = 256, kBlock = 32;

// Lines of `size` numbers, one per term, filled up with zeros.
void pack(const Strided<float>& from, int64_t first_term, int64_t terms, int64_t first, int64_t n, int64_t size,
          float* to) {
    for (int64_t term = 0; term < terms; ++term, to += size) {
        const float* at = from.at(first_term + term, first);
        if (from.column_stride == 1)
            std::copy(at, at + n, to);
        else
            for (int64_t i = 0; i < n; ++i) to[i] = at[i * from.column_stride];
        std::fill(to + n, to + size, 0.0f);
    }
}

}  // namespace

void SymmetricWork::add_products(const Strided<float>& left, const Strided<float>& right, float sign, float* out,
                                 int64_t stride) {
    const int64_t n = left.columns, height = kernels_.linalg32.tile_rows, width = kernels_.linalg32.tile_columns;
    const int64_t tiles = (n + height - 1) / height;
    left_.resize(static_cast<size_t>(tiles * height * kDepth));
    right_.resize(static_cast<size_t>(width * kDepth));
    tile_.resize(static_cast<size_t>(height * width));
    for (int64_t k = 0; k < left.rows; k += kDepth) {
        const int64_t depth = std::min(kDepth, left.rows - k);
        for (int64_t tile = 0; tile < tiles; ++tile) {
            const int64_t i = tile * height;
            pack(left, k, depth, i, std::min(height, n - i), height, left_.data() + i * depth);
        }
        for (int64_t j = 0; j < n; j += width) {
            const int64_t columns = std::min(width, n - j);
            pack(right, k, depth, j, columns, width, right_.data());
            for (int64_t i = 0; i < std::min(n, j + width); i += height) {
                kernels_.linalg32.multiply_tile(left_.data() + i * depth, right_.data(), depth, tile_.data());
                for (int64_t row = 0; row < std::min(height, n - i); ++row) {
                    float* to = out + (i + row) * stride + j;
                    const float* from = tile_.data() + row * width;
                    for (int64_t column = 0; column < columns; ++column) to[column] += sign * from[column];
                }
            }
        }
    }
}

bool SymmetricWork::factor(float* a, int64_t n) {
    for (int64_t k = 0; k < n; k += kBlock) {
        const int64_t m = std::min(kBlock, n - k), rest = n - k - m;
        block_.resize(static_cast<size_t>(m * m));
        for (int64_t i = 0; i < m; ++i) std::copy_n(a + (k + i) * n + k, m, block_.data() + i * m);
        if (!kernels_.linalg32.factor(block_.data(), m)) return false;
        for (int64_t i = 0; i < m; ++i) std::copy_n(block_.data() + i * m + i, m - i, a + (k + i) * n + k + i);
        if (rest == 0) break;
        for (int64_t i = 0; i < m; ++i) {
            float* row = a + (k + i) * n + k + m;
            for (int64_t above = 0; above < i; ++above)
                kernels_.implicit.add_scaled(row, -a[(k + above) * n + k + i], a + (k + above) * n + k + m, rest);
            for (int64_t j = 0; j < rest; ++j) row[j] /= a[(k + i) * n + k + i];
        }
        const Strided<float> panel{a + k * n + k + m, m, rest, n, 1};
        add_products(panel, panel, -1.0f, a + (k + m) * n + k + m, n);
    }
    return true;
}

void SymmetricWork::solve(const float* u, int64_t n, float* b) const {
    const ImplicitKernels& kernels = kernels_.implicit;
    for (int64_t i = 0; i < n; ++i) {
        b[i] /= u[i * n + i];
        kernels.add_scaled(b + i + 1, -b[i], u + i * n + i + 1, n - i - 1);
    }
    for (int64_t i = n; i-- > 0;) b[i] = (b[i] - kernels.dot(u + i * n + i + 1, b + i + 1, n - i - 1)) / u[i * n + i];
}

}  // namespace bitfm
