// Discrete coordinate descent on bare ids by lazy flips.
//
// For a row with code b and partners d_j, the rule visits the bits in order and sets b_t to the sign of
//     b̂_t = Σ_j (p_j − ⟨b, d_j⟩ + b_t d_jt) d_jt + β D_t = g_t + n b_t,
//     g = Σ_j r_j d_j + β D,   r_j = p_j − ⟨b, d_j⟩.
// Most bits agree with their sign already, so only those that do not are visited, in order, and a flip
// changes g by one column of Σ d d', counted from the codes. All in fixed point. Where a row's sums need more
// than 32 bits, g is kept in coarser units and a bit whose b̂ is within the rounding is settled in exact
// 64-bit arithmetic: the result is that of exact arithmetic on every machine.
#pragma once

#include "kernels/prelude.hpp"

namespace bitfm::BITFM_ISA {
namespace {

constexpr int64_t kSumLimit = int64_t(1) << 29;
constexpr int64_t kResidualLimit = 32766;  // what 16 bits hold

// out[t] = Σ_j r_j [bit t of code j]. Codes and r are padded to an even number by an r of 0.
template <int kWords>
void masked_sums(const uint64_t* codes, const int16_t* r, int64_t n, int32_t* out) {
#if defined(__AVX512BW__)
    __m512i sum[4 * kWords];
    for (auto& s : sum) s = _mm512_setzero_si512();
    for (int64_t j = 0; j < n; ++j) {
        __m512i rj = _mm512_set1_epi32(r[j]);
        for (int w = 0; w < kWords; ++w)
            for (int m = 0; m < 4; ++m)
                sum[4 * w + m] = _mm512_mask_add_epi32(sum[4 * w + m], __mmask16(codes[j * kWords + w] >> (16 * m)),
                                                       sum[4 * w + m], rj);
    }
    for (int i = 0; i < 4 * kWords; ++i) _mm512_storeu_si512(out + 16 * i, sum[i]);
#elif defined(__AVX2__)
    // Two codes at a time: their 16-bit pieces side by side in each lane, so that one multiply-add takes
    // both.
    const __m256i pick = _mm256_setr_epi32(0x10001, 0x20002, 0x40004, 0x80008, 0x100010, 0x200020, 0x400040, 0x800080);
    const __m256i pick_high = _mm256_slli_epi16(pick, 8);
    for (int w = 0; w < kWords; ++w) {
        __m256i sum[8];
        for (auto& s : sum) s = _mm256_setzero_si256();
        for (int64_t j = 0; j < n; j += 2) {
            const __m256i both = _mm256_set1_epi32(int32_t(uint32_t(uint16_t(r[j])) | uint32_t(r[j + 1]) << 16));
            const __m128i first = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + j * kWords + w));
            const __m128i second = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes + (j + 1) * kWords + w));
            const __m256i pieces = _mm256_broadcastsi128_si256(_mm_unpacklo_epi16(first, second));
            const __m256i piece[4] = {_mm256_shuffle_epi32(pieces, 0x00), _mm256_shuffle_epi32(pieces, 0x55),
                                      _mm256_shuffle_epi32(pieces, 0xaa), _mm256_shuffle_epi32(pieces, 0xff)};
            for (int m = 0; m < 4; ++m) {
                const __m256i low = _mm256_cmpeq_epi16(_mm256_and_si256(piece[m], pick), pick);
                const __m256i high = _mm256_cmpeq_epi16(_mm256_and_si256(piece[m], pick_high), pick_high);
                sum[2 * m] = _mm256_sub_epi32(sum[2 * m], _mm256_madd_epi16(low, both));
                sum[2 * m + 1] = _mm256_sub_epi32(sum[2 * m + 1], _mm256_madd_epi16(high, both));
            }
        }
        for (int m = 0; m < 8; ++m) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 64 * w + 8 * m), sum[m]);
    }
#else
    for (int t = 0; t < 64 * kWords; ++t) out[t] = 0;
    for (int64_t j = 0; j < n; ++j)
        for (int w = 0; w < kWords; ++w)
            for (int t = 0; t < 64; ++t) out[64 * w + t] += r[j] & -int32_t(codes[j * kWords + w] >> t & 1);
#endif
}

// The codes of a row's partners as bytes of ±1, bit by bit: what flips are counted from.
template <int kWords>
void spread_codes(const uint64_t* codes, int64_t n, int8_t* out) {
    for (int64_t i = 0; i < n * kWords; ++i) {
#if defined(__AVX512BW__)
        const __m512i minus = _mm512_set1_epi8(-1), plus = _mm512_set1_epi8(1);
        _mm512_storeu_si512(out + 64 * i, _mm512_mask_mov_epi8(minus, codes[i], plus));
#elif defined(__AVX2__)
        const __m256i low = _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
        const __m256i high = _mm256_or_si256(low, _mm256_set1_epi8(4));
        const __m256i bit = _mm256_set1_epi64x(int64_t(0x8040201008040201)), one = _mm256_set1_epi8(1);
        const __m256i code = _mm256_set1_epi64x(int64_t(codes[i]));
        for (int half = 0; half < 2; ++half) {
            __m256i bits = _mm256_and_si256(_mm256_shuffle_epi8(code, half ? high : low), bit);
            __m256i minus = _mm256_cmpeq_epi8(bits, _mm256_setzero_si256());
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + 64 * i + 32 * half), _mm256_or_si256(minus, one));
        }
#else
        for (int t = 0; t < 64; ++t) out[64 * i + t] = codes[i] >> t & 1 ? 1 : -1;
#endif
    }
}

// g += scale Σ_j d_jt d_j, the column of bit t of Σ d d', counted in bytes. `scale` is a power of two, up to
// sign.
template <int kWords>
void add_column(const int8_t* spread, int64_t n, int t, int32_t scale, int32_t* g) {
    constexpr int kBits = 64 * kWords;
    for (int64_t from = 0; from < n; from += 127) {  // what a signed byte can count
        const int64_t to = from + 127 < n ? from + 127 : n;
#if defined(__AVX2__)
        for (int part = 0; part < kBits; part += 64) {
            __m256i low = _mm256_setzero_si256(), high = low;
            for (int64_t j = from; j < to; ++j) {
                const int8_t* d = spread + j * kBits;
                const __m256i sign = _mm256_set1_epi8(d[t]);
                const auto* lanes = reinterpret_cast<const __m256i*>(d + part);
                low = _mm256_add_epi8(low, _mm256_sign_epi8(_mm256_loadu_si256(lanes), sign));
                high = _mm256_add_epi8(high, _mm256_sign_epi8(_mm256_loadu_si256(lanes + 1), sign));
            }
            alignas(32) int8_t column[64];
            _mm256_store_si256(reinterpret_cast<__m256i*>(column), low);
            _mm256_store_si256(reinterpret_cast<__m256i*>(column + 32), high);
            for (int u = 0; u < 64; ++u) g[part + u] += scale * column[u];
        }
#else
        int8_t column[kBits] = {};
        for (int64_t j = from; j < to; ++j) {
            const int8_t* d = spread + j * kBits;
            if (d[t] > 0)
                for (int u = 0; u < kBits; ++u) column[u] = int8_t(column[u] + d[u]);
            else
                for (int u = 0; u < kBits; ++u) column[u] = int8_t(column[u] - d[u]);
        }
        for (int u = 0; u < kBits; ++u) g[u] += scale * column[u];
#endif
    }
}

// The bits that disagree with their sign, or might: b_t g_t <= limit = slack − self, as a mask.
template <int kWords>
BITFM_INLINE void doubtful(const int32_t* g, const uint64_t* b, int32_t limit, const uint64_t* valid, uint64_t* mask) {
    for (int w = 0; w < kWords; ++w) {
        uint64_t found = 0;
#if defined(__AVX2__)
        const __m256i pick = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128), most = _mm256_set1_epi32(limit);
        const __m256i one = _mm256_set1_epi32(1);
        for (int m = 0; m < 8; ++m) {
            __m256i byte = _mm256_set1_epi32(int32_t(b[w] >> (8 * m) & 0xff));
            __m256i minus = _mm256_cmpeq_epi32(_mm256_and_si256(byte, pick), _mm256_setzero_si256());
            __m256i value = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(g + 64 * w + 8 * m));
            __m256i agrees = _mm256_cmpgt_epi32(_mm256_sign_epi32(value, _mm256_or_si256(minus, one)), most);
            found |= uint64_t(0xff & ~_mm256_movemask_ps(_mm256_castsi256_ps(agrees))) << (8 * m);
        }
#else
        for (int t = 0; t < 64; ++t) {
            const int32_t value = g[64 * w + t];
            found |= uint64_t((b[w] >> t & 1 ? value : -value) <= limit) << t;
        }
#endif
        mask[w] = found & valid[w];
    }
}

template <int kWords>
struct FlipRow {
    const FlipInput& in;
    const uint64_t* d;  // partners' codes, gathered
    const int32_t* target;
    const float* delegate;
    uint64_t* b;
    int64_t n;

    BITFM_INLINE int differing(int64_t j) const {
        int count = 0;
        for (int w = 0; w < kWords; ++w) count += __builtin_popcountll(b[w] ^ d[j * kWords + w]);
        return count;
    }
    BITFM_INLINE int64_t linear(int t) const {
        double scaled = in.beta * double(delegate[t]) * double(int64_t(1) << in.fraction);
        if (scaled > 4e18) return int64_t(4e18);
        if (scaled < -4e18) return int64_t(-4e18);
        return __builtin_llrint(scaled);
    }
    // b̂_t in units of 2^-fraction, exactly
    int64_t exact(int t) const {
        int64_t sum = 0;
        bool own = b[t / 64] >> (t % 64) & 1;
        for (int64_t j = 0; j < n; ++j) {
            bool bit = d[j * kWords + t / 64] >> (t % 64) & 1;
            int64_t inner = in.bits - 2 * int64_t(differing(j)) - (bit == own ? 1 : -1);
            int64_t r = target[j] - inner * (int64_t(1) << in.fraction);
            sum += bit ? r : -r;
        }
        int64_t total;
        return __builtin_add_overflow(sum, linear(t), &total) ? linear(t) : total;
    }
};

// Targets are integers T in units of 2^-fraction. The row is worked on in units of 2^-unit, unit = fraction − shift, as
// fine as residuals in 16 bits and sums over the row up to 2^29 allow:
//     r_j = round(T_j / 2^shift) − ⟨b, d_j⟩ 2^unit      off by 1/2 at most: the products are exact,
//     g_t = Σ_j r_j d_jt + trunc(β D_t 2^unit)          off by n/2 + 1 + |β D_t| 2^unit 2^-23: two roundings to float.
// `slack` is no less than that, and stays valid, for a flip of bit t adds 2 b_t 2^unit Σ_j d_jt d_j to g, exactly. With
// `self` = n 2^unit, b̂_t = g_t + b_t self has the exact sign wherever |b̂_t| > slack, so that bits with
// b_t g_t + self > slack can stay; what is within the slack is asked of exact(). β D_t is cut off at 2^30, which the
// rest of b̂_t, at most 2^29, cannot outweigh. If units were coarser than 1 (shift > fraction), ⟨b, d_j⟩ would not be a
// multiple of them: then everything is within the slack, and exact() decides every bit.
template <int kWords>
int64_t update_flip_row(const FlipRow<kWords>& row, int16_t* r, int8_t* spread) {
    const FlipInput& in = row.in;
    const int bits = in.bits;
    int shift = 0;
    while (shift <= in.fraction &&
           ((in.largest >> shift) > kResidualLimit || row.n * ((in.largest >> shift) + 1) > kSumLimit))
        ++shift;
    const bool coarse = shift > in.fraction;  // a row so long that only exact arithmetic will do
    const int unit = coarse ? 0 : in.fraction - shift;

    alignas(64) int32_t g[64 * kWords];
    uint64_t valid[kWords], mask[kWords];
    for (int w = 0; w < kWords; ++w) {
        int left = bits - 64 * w;
        valid[w] = left >= 64 ? ~uint64_t(0) : left > 0 ? (uint64_t(1) << left) - 1 : 0;
    }
    int32_t self = 0, slack = INT32_MAX;
    if (coarse) {
        for (auto& value : g) value = 0;
    } else {
        const int32_t half = shift ? 1 << (shift - 1) : 0;
        int32_t total = 0;
        for (int64_t j = 0; j < row.n; ++j) {
            const int32_t rj = ((row.target[j] + half) >> shift) - ((bits - 2 * row.differing(j)) * (1 << unit));
            r[j] = int16_t(rj);
            total += rj;
        }
        r[row.n] = 0;
        masked_sums<kWords>(row.d, r, row.n, g);
        const float scale = float(in.beta) * float(int32_t(1) << unit), most = float(2 * kSumLimit);
        int32_t largest = 0;
        for (int t = 0; t < bits; ++t) {
            float linear = row.delegate[t] * scale;
            linear = linear < -most ? -most : linear;
            linear = linear > most ? most : linear;
            const int32_t whole = int32_t(linear), size = whole < 0 ? -whole : whole;
            largest = size > largest ? size : largest;
            g[t] = 2 * g[t] - total + whole;
        }
        self = int32_t(row.n << unit);
        slack = int32_t(row.n / 2) + 2 + (largest >> 21);
    }

    int64_t flips = 0;
    for (int pass = 0; pass < in.passes; ++pass) {
        int64_t flips_now = 0;
        doubtful<kWords>(g, row.b, slack - self, valid, mask);
        for (int w = 0; w < kWords; ++w) {
            while (mask[w]) {
                const int t = 64 * w + __builtin_ctzll(mask[w]);
                const uint64_t passed = ~uint64_t(0) << (t % 64) << 1;  // the bits of this word still to visit
                const int32_t sign = row.b[w] >> (t % 64) & 1 ? 1 : -1;
                const int64_t hat = int64_t(g[t]) + int64_t(sign) * self;
                bool flip = sign * hat < 0;
                if (coarse || (hat <= slack && hat >= -slack)) flip = sign * row.exact(t) < 0;
                if (!flip) {
                    mask[w] &= passed;
                    continue;
                }
                if (!coarse) {
                    if (flips + flips_now == 0) spread_codes<kWords>(row.d, row.n, spread);
                    add_column<kWords>(spread, row.n, t, 2 * sign * (1 << unit), g);
                }
                ++flips_now;
                row.b[w] ^= uint64_t(1) << (t % 64);
                doubtful<kWords>(g, row.b, slack - self, valid, mask);
                mask[w] &= passed;
            }
        }
        flips += flips_now;
        if (!flips_now) break;
    }
    return flips;
}

template <int kWords>
int64_t update_rows_of(const FlipInput& in, unsigned char* scratch, int64_t begin, int64_t end) {
    int64_t flips = 0;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t from = in.start[i], n = in.start[i + 1] - from;
        uint64_t* d = reinterpret_cast<uint64_t*>(scratch);
        int8_t* spread = reinterpret_cast<int8_t*>(scratch + (n + 1) * kWords * 8);
        int16_t* r = reinterpret_cast<int16_t*>(scratch + (n + 1) * kWords * 72);
        for (int64_t j = 0; j < n; ++j)
            for (int w = 0; w < kWords; ++w)
                d[j * kWords + w] = in.partner_codes[int64_t(in.partner[from + j]) * kWords + w];
        for (int w = 0; w < kWords; ++w) d[n * kWords + w] = 0;
        FlipRow<kWords> row{in, d, in.target + from, in.delegate + i * in.bits, in.codes + i * kWords, n};
        flips += update_flip_row<kWords>(row, r, spread);
    }
    return flips;
}

int64_t update_flip_rows(const FlipInput& in, unsigned char* scratch, int64_t begin, int64_t end) {
    switch (in.words) {
        case 1:
            return update_rows_of<1>(in, scratch, begin, end);
        case 2:
            return update_rows_of<2>(in, scratch, begin, end);
        case 4:
            return update_rows_of<4>(in, scratch, begin, end);
        default:
            return update_rows_of<8>(in, scratch, begin, end);
    }
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
