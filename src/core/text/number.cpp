#include "text/number.hpp"

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <version>
#ifdef __APPLE__
#include <xlocale.h>
#else
#include <locale.h>
#endif

// libc++ has had whole numbers in <charconv> long before doubles.
#if defined(__cpp_lib_to_chars) && __cpp_lib_to_chars >= 201611L
#define BITFM_CHARCONV_DOUBLE 1
#else
#define BITFM_CHARCONV_DOUBLE 0
#endif

namespace bitfm {

namespace {

// The C library's conversions follow the thread's locale; this sets it to "C" for a while.
class PlainLocale {
  public:
    PlainLocale() : before_(uselocale(plain())) {}
    ~PlainLocale() { uselocale(before_); }
    PlainLocale(const PlainLocale&) = delete;
    PlainLocale& operator=(const PlainLocale&) = delete;

  private:
    static locale_t plain() {
        static const locale_t locale = newlocale(LC_ALL_MASK, "C", nullptr);
        return locale;
    }
    locale_t before_;
};

}  // namespace

double number::divide(uint64_t m, int exponent) {
#ifdef __SIZEOF_INT128__
    // m / 10^k = (m / 5^k) · 2^-k, and 5^27 < 2^63. With both operands shifted to fill 64 bits the quotient
    // has 63 or 64, ten more than a double; its last bit stands for the whole remainder, so that the
    // conversion below sees on which side of a tie it is.
    static constexpr auto fives = [] {
        std::array<uint64_t, 28> powers{1};
        for (size_t i = 1; i < powers.size(); ++i) powers[i] = 5 * powers[i - 1];
        return powers;
    }();
    const uint64_t five = fives[static_cast<size_t>(-exponent)];
    const int m_shift = std::countl_zero(m), five_shift = std::countl_zero(five);
    const unsigned __int128 dividend = static_cast<unsigned __int128>(m << m_shift) << 63;
    const uint64_t divisor = five << five_shift;
    const uint64_t quotient = static_cast<uint64_t>(dividend / divisor);
    const bool inexact = static_cast<unsigned __int128>(quotient) * divisor != dividend;
    const int power = five_shift - m_shift + exponent - 63;
    return static_cast<double>(quotient | (inexact ? 1 : 0)) *
           std::bit_cast<double>(static_cast<uint64_t>(1023 + power) << 52);
#else
    const std::string text = std::to_string(m) + "e" + std::to_string(exponent);
    return slow(text.data(), text.data() + text.size());
#endif
}

double number::slow(const char* begin, const char* end) {
    if (*begin == '+') ++begin;
#if BITFM_CHARCONV_DOUBLE
    double value;
    if (std::from_chars(begin, end, value).ec == std::errc()) return value;
    // Out of range leaves open whether the number is too large or too small; strtod tells.
#endif
    PlainLocale locale;
    return std::strtod(std::string(begin, end).c_str(), nullptr);
}

char* format_number(char* out, double value) {
    // Digits alone, where to_chars would choose 1e+05. -0 keeps its sign by going the other way.
    if (std::abs(value) < 9007199254740992.0 && value == std::trunc(value) && (value != 0 || !std::signbit(value)))
        return std::to_chars(out, out + kNumberLength, static_cast<int64_t>(value)).ptr;
#if BITFM_CHARCONV_DOUBLE
    return std::to_chars(out, out + kNumberLength, value).ptr;
#else
    PlainLocale locale;
    return out + std::snprintf(out, kNumberLength, "%.17g", value);
#endif
}

}  // namespace bitfm
