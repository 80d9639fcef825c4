#include "base/functions.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace bitfm {

namespace {

constexpr double kLn2High = 0x1.62e42feep-1,
                 kLn2Low = 0x1.a39ef35793c76p-33;  // the product with a small integer is exact
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

// ln(m) of m from √½ to √2, by the series of 2 artanh s.
double near_one(double m) {
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 0;
#pragma GCC unroll 16
    for (int n = 21; n >= 3; n -= 2) sum = (sum + 1.0 / n) * z;
    return 2 * s + 2 * s * sum;
}

}  // namespace

double exponential(double x) {
    if (std::isnan(x)) return x;
    if (x > 709.8) return std::numeric_limits<double>::infinity();
    if (x < -745.2) return 0;
    const double k = std::nearbyint(x * kInverseLn2), r = x - k * kLn2High - k * kLn2Low;
    double sum = 0;
#pragma GCC unroll 16
    for (int n = 14; n >= 2; --n) sum = (sum + 1) * (r * (1.0 / n));  // r/2! + r²/3! + …
    return std::scalbn(1 + (r + r * sum), static_cast<int>(k));
}

double logarithm(double x) {
    const int64_t bits = std::bit_cast<int64_t>(x);
    const int64_t above = (bits - 0x3fe6a09e667f3bcd) >> 52;  // m from √½ to √2
    const double m = std::bit_cast<double>(bits - (above << 52)), k = static_cast<double>(above);
    return k * kLn2High + (k * kLn2Low + near_one(m));
}

double logistic(double x) {
    const double e = exponential(-std::abs(x));
    return (x < 0 ? e : 1.0) / (1 + e);
}

double softplus(double x) {
    const double e = exponential(-std::abs(x)), u = 1 + e;
    const double lost = (e - (u - 1)) / u;  // by rounding 1 + e
    return (x > 0 ? x : 0.0) + (logarithm(u) + lost);
}

}  // namespace bitfm
