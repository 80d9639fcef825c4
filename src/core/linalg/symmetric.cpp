#include "linalg/symmetric.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "base/isa.hpp"

namespace bitfm {

namespace {

constexpr int kMostRotations = 60;    // sweeps per eigenvalue; three are usual
constexpr double kNothing = 0x1p-53;  // beside a largest of 1
constexpr double kDependent = 1e-10;

// y += scale x. Along the vectors, so compilers may use as many lanes as they like.
void add_scaled(double* __restrict y, const double* __restrict x, double scale, int64_t n) {
    for (int64_t i = 0; i < n; ++i) y[i] += scale * x[i];
}

double dot(const double* x, const double* y, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
}

// Householder's reflections of a matrix whose largest number is about 1: a becomes tridiagonal, and then the transposed
// product of the reflections, whose rows are the directions in which it is.
void make_tridiagonal(double* a, int64_t n, std::vector<double>& diagonal, std::vector<double>& beside) {
    std::vector<double> v(static_cast<size_t>(n)), p(static_cast<size_t>(n)), scales(static_cast<size_t>(n), 0.0);
    for (int64_t k = 0; k + 1 < n; ++k) {
        const int64_t m = n - k - 1;
        double* column = a + k * n + k + 1;  // of the upper triangle: row k beyond the diagonal
        const double length = std::sqrt(dot(column, column, m));
        diagonal[k] = a[k * n + k];
        beside[k] = m == 1 ? column[0] : column[0] > 0 ? -length : length;
        if (length <= kNothing) beside[k] = 0;  // what rounding left of a dependent column, and squares of it vanish
        if (length <= kNothing || m == 1) continue;
        std::copy(column, column + m, v.begin());
        v[0] -= beside[k];
        const double scale = 2 / dot(v.data(), v.data(), m);
        std::fill(p.begin(), p.begin() + m, 0.0);
        for (int64_t i = 0; i < m; ++i) add_scaled(p.data(), a + (k + 1 + i) * n + k + 1, v[i] * scale, m);
        add_scaled(p.data(), v.data(), -scale / 2 * dot(p.data(), v.data(), m), m);
        for (int64_t i = 0; i < m; ++i) {
            double* row = a + (k + 1 + i) * n + k + 1;
            for (int64_t j = 0; j < m; ++j) row[j] -= v[i] * p[j] + p[i] * v[j];
        }
        std::copy(v.begin(), v.begin() + m, column);  // kept for the directions
        scales[k] = scale;
    }
    diagonal[n - 1] = a[n * n - 1];
    std::vector<double> directions(static_cast<size_t>(n * n), 0.0);
    for (int64_t i = 0; i < n; ++i) directions[i * n + i] = 1;
    for (int64_t k = n - 2; k >= 0; --k) {  // rows k + 1 … of the directions, which are the identity elsewhere
        if (scales[k] == 0) continue;
        const int64_t m = n - k - 1;
        const double* reflection = a + k * n + k + 1;
        for (int64_t i = 0; i < m; ++i) {
            double* row = directions.data() + (k + 1 + i) * n + k + 1;
            add_scaled(row, reflection, -scales[k] * dot(row, reflection, m), m);
        }
    }
    std::copy(directions.begin(), directions.end(), a);
}

// Diagonalises by rotations (implicit QL with Wilkinson's shift), which turn the rows of a.
void diagonalise(double* a, int64_t n, std::vector<double>& diagonal, std::vector<double>& beside) {
    double size = 0;
    for (int64_t i = 0; i < n; ++i) size = std::max(size, std::abs(diagonal[i]) + std::abs(beside[i]));
    for (int64_t low = 0; low < n; ++low)
        for (int tries = 0;; ++tries) {
            int64_t high = low;
            while (high + 1 < n && std::abs(beside[high]) > kNothing * size) ++high;
            if (high == low) break;
            require(tries < kMostRotations, "the eigenvalues do not converge");
            double g = (diagonal[low + 1] - diagonal[low]) / (2 * beside[low]);
            double r = std::sqrt(g * g + 1);
            g = diagonal[high] - diagonal[low] + beside[low] / (g + (g >= 0 ? r : -r));
            double sine = 1, cosine = 1, shift = 0;
            int64_t i = high - 1;
            for (; i >= low; --i) {
                const double f = sine * beside[i], b = cosine * beside[i];
                r = std::sqrt(f * f + g * g);
                beside[i + 1] = r;
                if (r == 0) {  // split in the middle of it
                    diagonal[i + 1] -= shift;
                    beside[high] = 0;
                    break;
                }
                sine = f / r;
                cosine = g / r;
                g = diagonal[i + 1] - shift;
                r = (diagonal[i] - g) * sine + 2 * cosine * b;
                shift = sine * r;
                diagonal[i + 1] = g + shift;
                g = cosine * r - b;
                double* __restrict one = a + i * n, * __restrict other = a + (i + 1) * n;
                for (int64_t t = 0; t < n; ++t) {
                    const double x = one[t], y = other[t];
                    other[t] = sine * x + cosine * y;
                    one[t] = cosine * x - sine * y;
                }
            }
            if (r == 0 && i >= low) continue;
            diagonal[low] -= shift;
            beside[low] = g;
            beside[high] = 0;
        }
}

}  // namespace

bool solve_positive(Matrix<double> a, Matrix<double> b) {
    require(a.rows == a.columns && b.rows == a.rows, "the matrix must be square, with as many rows on the right");
    const int64_t n = a.rows, n_columns = b.columns;
    if (!isa().kernels->linalg<double>().factor(a.data, n)) return false;
    for (int64_t i = 0; i < n; ++i) {  // U' z = b
        for (int64_t k = 0; k < i; ++k) add_scaled(b.row(i), b.row(k), -a.row(k)[i], n_columns);
        for (int64_t j = 0; j < n_columns; ++j) b.row(i)[j] /= a.row(i)[i];
    }
    for (int64_t i = n; i-- > 0;) {  // U x = z
        for (int64_t k = i + 1; k < n; ++k) add_scaled(b.row(i), b.row(k), -a.row(i)[k], n_columns);
        for (int64_t j = 0; j < n_columns; ++j) b.row(i)[j] /= a.row(i)[i];
    }
    return true;
}

void eigenvectors(Matrix<double> matrix, std::span<double> values) {
    const auto n = static_cast<int64_t>(values.size());
    require(matrix.has_shape(n, n), "the matrix must be square, with one value per row");
    const std::span<double> a = matrix.all();
    double largest = 0;
    for (double x : a) {
        require(std::isfinite(x), "the matrix has values that are not finite");
        largest = std::max(largest, std::abs(x));
    }
    if (n == 0) return;
    const int exponent = largest > 0 ? std::ilogb(largest) : 0;  // powers of two, so that no square overflows
    for (double& x : a) x = std::scalbn(x, -exponent);
    std::vector<double> diagonal(static_cast<size_t>(n)), beside(static_cast<size_t>(n), 0.0);
    make_tridiagonal(a.data(), n, diagonal, beside);
    diagonalise(a.data(), n, diagonal, beside);
    std::vector<int64_t> order(static_cast<size_t>(n));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) { return diagonal[i] < diagonal[j]; });
    const std::vector<double> rows(a.begin(), a.end());
    for (int64_t i = 0; i < n; ++i) {
        const double* from = rows.data() + order[i] * n;
        const double* peak =
            std::max_element(from, from + n, [](double x, double y) { return std::abs(x) < std::abs(y); });
        const double sign = *peak < 0 ? -1 : 1;
        std::transform(from, from + n, a.begin() + i * n, [sign](double x) { return sign * x; });
        values[i] = std::scalbn(diagonal[order[i]], exponent);
    }
}

void make_orthonormal(Matrix<double> rows) {
    const int64_t n_columns = rows.columns;
    for (int64_t i = 0; i < rows.rows; ++i) {
        double* row = rows.row(i);
        const double before = std::sqrt(dot(row, row, n_columns));
        for (int again = 0; again < 2; ++again)  // twice is enough
            for (int64_t k = 0; k < i; ++k) {
                const double* other = rows.row(k);
                add_scaled(row, other, -dot(row, other, n_columns), n_columns);
            }
        const double length = std::sqrt(dot(row, row, n_columns));
        const bool dependent = !(length > kDependent * before);
        for (int64_t j = 0; j < n_columns; ++j) row[j] = dependent ? 0 : row[j] / length;
    }
}

}  // namespace bitfm
