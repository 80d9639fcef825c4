// Decimal numbers to doubles and back, correctly rounded and independent of the locale.
#pragma once

#include <cstdint>

namespace bitfm {

// Reads [+-]digits[.digits][e[+-]digits] at `p`, where either side of the point may be empty. Returns where
// the number ends, or nullptr if there is none; a number too large for a double gives infinity. The text must
// go on with a character that cannot be part of a number, as every line of a text file does.
inline const char* parse_number(const char* p, double& value);

// The longest text that format_number() writes.
inline constexpr int kNumberLength = 32;

// Writes the shortest text that reads back as the same double, a whole number without a fraction, and returns
// where it ends.
char* format_number(char* out, double value);

namespace number {

// m · 10^exponent, correctly rounded, for an exponent in [-27, 0]; m is not 0.
double divide(uint64_t m, int exponent);
// Correct for everything that parse_number() accepts.
double slow(const char* begin, const char* end);

inline constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                     1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

inline bool digit(char c) {
    return static_cast<unsigned char>(c - '0') < 10;
}

}  // namespace number

inline const char* parse_number(const char* p, double& value) {
    using number::digit;
    const char* begin = p;
    const bool negative = *p == '-';
    if (negative || *p == '+') ++p;

    uint64_t m = 0;  // wraps beyond 19 digits, where it is not used
    const char* first = p;
    for (; digit(*p); ++p) m = 10 * m + static_cast<uint64_t>(*p - '0');
    int64_t n_digits = p - first;
    int64_t exponent = 0;
    if (*p == '.') {
        const char* fraction = ++p;
        for (; digit(*p); ++p) m = 10 * m + static_cast<uint64_t>(*p - '0');
        exponent = fraction - p;
        n_digits -= exponent;
    }
    if (n_digits == 0) return nullptr;
    if (*p == 'e' || *p == 'E') {
        ++p;
        const bool down = *p == '-';
        if (down || *p == '+') ++p;
        if (!digit(*p)) return nullptr;
        int64_t power = 0;
        for (; digit(*p); ++p)
            if (power < 1'000'000) power = 10 * power + (*p - '0');
        exponent += down ? -power : power;
    }

    // Clinger: both operands are exact doubles, so one rounding, the right one, is all that happens.
    if (n_digits <= 19 && m <= uint64_t{1} << 53 && exponent >= -22 && exponent <= 22) {
        const double exact = static_cast<double>(m);
        const double size = exponent < 0 ? exact / number::kPowers[-exponent] : exact * number::kPowers[exponent];
        value = negative ? -size : size;
    } else if (n_digits <= 19 && m != 0 && exponent >= -27 && exponent <= 0) {
        const double size = number::divide(m, static_cast<int>(exponent));
        value = negative ? -size : size;
    } else {
        value = number::slow(begin, p);
    }
    return p;
}

}  // namespace bitfm
