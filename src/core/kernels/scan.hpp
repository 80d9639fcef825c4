// Which items of a catalogue of codes may reach a query's score.
//
// A query is a table of 16 bytes for each nibble of a code: what that nibble costs the query, in steps, rounded
// down. For a query that is itself a code the cost is the number of bits that differ, and exact. An item is a hit if
// its costs add up to no more than the query's limit for the chunk. The limit is a budget, kept in a byte and paid
// from: what remains is above zero for hits alone, whatever the sum would have been. A cost is at most 127, so that two
// add up without saturation, which takes ports that the table look-ups need.
#pragma once

#include "kernels/prelude.hpp"

namespace bitfm::BITFM_ISA {
namespace {

// Eight limits, from kNoHit to kAllHit: `upper_bound` steps, less the deficit of the chunk's best item. They are of
// eight queries for one chunk or of one query for eight chunks, so each input is eight numbers (stride 1) or one
// (stride 0). A NaN, as 0 × inf gives, must let everything pass, hence the form of the comparisons.
struct Limits {
    static_assert(kTile == kLanes);
    int32_t limit[kLanes];
    uint32_t all, some;  // which are kAllHit, and which are to be counted
};

template <int kOfChunk, int kOfQuery>
BITFM_INLINE Limits limits_of(const CodeChunks& chunks, int64_t chunk, const QueryTile& tile) {
    static_assert(kOfChunk + kOfQuery == 1);
    const float *bias = chunks.bias + chunk, *most = chunks.inverse_most + chunk, *least = chunks.inverse_least + chunk;
    Limits out;
#if defined(__AVX2__)
    const auto of_chunk = [&](const float* p) { return kOfChunk ? _mm256_loadu_ps(p) : _mm256_broadcast_ss(p); };
    const auto of_query = [&](const float* p) { return kOfQuery ? _mm256_loadu_ps(p) : _mm256_broadcast_ss(p); };
    const __m256 deficit = _mm256_sub_ps(of_query(tile.threshold), of_chunk(bias));
    const __m256 behind = _mm256_cmp_ps(deficit, _mm256_setzero_ps(), _CMP_GT_OQ);
    const __m256 inverse = _mm256_blendv_ps(of_chunk(least), of_chunk(most), behind);
    const __m256 steps = _mm256_mul_ps(_mm256_mul_ps(deficit, inverse), of_query(tile.inverse_step));
    const __m256 max_cost = _mm256_set1_ps(float(tile.max_cost));
    const __m256 limit = _mm256_min_ps(_mm256_sub_ps(of_query(tile.upper_bound), steps), max_cost);
    const __m256 floor = _mm256_floor_ps(_mm256_max_ps(limit, _mm256_set1_ps(kNoHit)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.limit), _mm256_cvttps_epi32(floor));
    out.all = uint32_t(_mm256_movemask_ps(_mm256_cmp_ps(floor, _mm256_set1_ps(kAllHit), _CMP_EQ_OQ)));
    out.some = ~uint32_t(_mm256_movemask_ps(floor)) & ~out.all & 0xff;  // a limit of -1 has its sign set
#else
    out.all = out.some = 0;
    for (int i = 0; i < kLanes; ++i) {
        const float deficit = tile.threshold[i * kOfQuery] - bias[i * kOfChunk];
        const float steps = deficit * (deficit > 0 ? most : least)[i * kOfChunk] * tile.inverse_step[i * kOfQuery];
        const float limit = tile.upper_bound[i * kOfQuery] - steps;
        out.limit[i] = !(limit < float(tile.max_cost)) ? tile.max_cost : limit < 0 ? kNoHit : int32_t(limit);
        out.all |= uint32_t(out.limit[i] == kAllHit) << i;
        out.some |= uint32_t(out.limit[i] >= 0 && out.limit[i] < kAllHit) << i;
    }
#endif
    return out;
}

// For kQueries queries at once: what remains of the budgets of the 64 items of a chunk. Returns whether any is above
// zero; only then is it written. With kHalfway it looks halfway whether any may be, which pays where limits are low.
template <int kQueries, int kBytes, bool kHalfway>
BITFM_INLINE bool scan_chunk(const uint8_t* codes, int n_bytes, const uint8_t* const* tables, const int32_t* limits,
                             uint8_t* const* out) {
    const int bytes = kBytes ? kBytes : n_bytes;
    [[maybe_unused]] const int halfway = kHalfway ? bytes / 2 : 0;
#if defined(__AVX512BW__)
    const __m512i low = _mm512_set1_epi8(15);
    __m512i budget[kQueries];
    for (int q = 0; q < kQueries; ++q) budget[q] = _mm512_set1_epi8(char(limits[q] + 1));
    for (int part = kHalfway ? 0 : 1; part < 2; ++part) {
        for (int j = part ? halfway : 0; j < (part ? bytes : halfway); ++j) {
            const __m512i code = _mm512_loadu_si512(codes + j * kChunkItems);
            const __m512i first = _mm512_and_si512(code, low);
            const __m512i second = _mm512_and_si512(_mm512_srli_epi16(code, 4), low);
            for (int q = 0; q < kQueries; ++q) {
                const auto* table = reinterpret_cast<const __m128i*>(tables[q] + j * 32);
                const __m512i cost = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table)), first);
                const __m512i more = _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(table + 1)), second);
                budget[q] = _mm512_subs_epu8(budget[q], _mm512_add_epi8(cost, more));
            }
        }
        __m512i any = budget[0];
        for (int q = 1; q < kQueries; ++q) any = _mm512_or_si512(any, budget[q]);
        if (!_mm512_test_epi8_mask(any, any)) return false;
    }
    for (int q = 0; q < kQueries; ++q) _mm512_storeu_si512(out[q], budget[q]);
    return true;
#elif defined(__AVX2__)
    const __m256i low = _mm256_set1_epi8(15);
    __m256i budget[kQueries][2];
    for (int q = 0; q < kQueries; ++q) budget[q][0] = budget[q][1] = _mm256_set1_epi8(char(limits[q] + 1));
    for (int part = kHalfway ? 0 : 1; part < 2; ++part) {
#pragma GCC unroll 8
        for (int j = part ? halfway : 0; j < (part ? bytes : halfway); ++j) {
            __m256i first[2], second[2];
            for (int h = 0; h < 2; ++h) {
                const auto* at = reinterpret_cast<const __m256i*>(codes + j * kChunkItems + h * 32);
                const __m256i code = _mm256_loadu_si256(at);
                first[h] = _mm256_and_si256(code, low);
                second[h] = _mm256_and_si256(_mm256_srli_epi16(code, 4), low);
            }
            for (int q = 0; q < kQueries; ++q) {
                const auto* table = reinterpret_cast<const __m128i*>(tables[q] + j * 32);
                const __m256i costs = _mm256_broadcastsi128_si256(_mm_loadu_si128(table));
                const __m256i more = _mm256_broadcastsi128_si256(_mm_loadu_si128(table + 1));
                for (int h = 0; h < 2; ++h)
                    budget[q][h] = _mm256_subs_epu8(
                        budget[q][h],
                        _mm256_add_epi8(_mm256_shuffle_epi8(costs, first[h]), _mm256_shuffle_epi8(more, second[h])));
            }
        }
        __m256i any = _mm256_setzero_si256();
        for (int q = 0; q < kQueries; ++q) any = _mm256_or_si256(any, _mm256_or_si256(budget[q][0], budget[q][1]));
        if (_mm256_testz_si256(any, any)) return false;
    }
    for (int q = 0; q < kQueries; ++q)
        for (int h = 0; h < 2; ++h) _mm256_storeu_si256(reinterpret_cast<__m256i*>(out[q] + h * 32), budget[q][h]);
    return true;
#else
    bool any = false;
    for (int q = 0; q < kQueries; ++q) {
        uint16_t cost[kChunkItems] = {};
        for (int j = 0; j < bytes; ++j) {
            const uint8_t* table = tables[q] + j * 32;
            for (int i = 0; i < kChunkItems; ++i) {
                const uint8_t code = codes[j * kChunkItems + i];
                cost[i] = uint16_t(cost[i] + table[code & 15] + table[16 + (code >> 4)]);
            }
        }
        for (int i = 0; i < kChunkItems; ++i) {
            out[q][i] = uint8_t(cost[i] <= limits[q] ? limits[q] + 1 - cost[i] : 0);
            any |= out[q][i] != 0;
        }
    }
    return any;
#endif
}

template <int kQueries, int kBytes>
BITFM_INLINE bool scan_some(const uint8_t* codes, int bytes, bool halfway, const uint8_t* const* tables,
                            const int32_t* limits, uint8_t* const* out) {
    return halfway ? scan_chunk<kQueries, kBytes, true>(codes, bytes, tables, limits, out)
                   : scan_chunk<kQueries, kBytes, false>(codes, bytes, tables, limits, out);
}

uint64_t above(const uint8_t* bytes, uint8_t least) {
#if defined(__AVX512BW__)
    return _mm512_cmpgt_epu8_mask(_mm512_loadu_si512(bytes), _mm512_set1_epi8(char(least)));
#elif defined(__AVX2__)
    const auto none = [&](int h) {
        const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + h * 32));
        const __m256i low = _mm256_subs_epu8(half, _mm256_set1_epi8(char(least)));
        return uint64_t(uint32_t(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, _mm256_setzero_si256()))));
    };
    return ~(none(0) | none(1) << 32);
#else
    uint64_t out = 0;
    for (int i = 0; i < kChunkItems; ++i) out |= uint64_t(bytes[i] > least) << i;
    return out;
#endif
}

// Several queries against chunk after chunk, four at a time where as many have something to count.
template <int kBytes>
int64_t scan_tile(const CodeChunks& chunks, QueryTile& tile, int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
        const Limits limits = limits_of<0, 1>(chunks, chunk, tile);
        if (!(limits.all | limits.some) || !chunks.alive[chunk]) continue;
        uint32_t hit = limits.all;
        const uint8_t* codes = chunks.codes + chunk * chunks.bytes * kChunkItems;
        for (uint32_t to_count = limits.some; to_count;) {
            const int n = __builtin_popcount(to_count) >= 4 ? 4 : to_count & (to_count - 1) ? 2 : 1;
            const uint8_t* tables[4];
            uint8_t* budget[4];
            int32_t limit[4];
            uint32_t these = 0;
            bool halfway = true;
            for (int i = 0; i < n; ++i, to_count &= to_count - 1) {
                const int q = __builtin_ctz(to_count);
                these |= 1u << q;
                halfway &= limits.limit[q] <= tile.half_scan_limit;
                tables[i] = tile.tables + int64_t(q) * chunks.bytes * 32;
                budget[i] = tile.budget[q];
                limit[i] = limits.limit[q];
            }
            if (n == 4   ? scan_some<4, kBytes>(codes, chunks.bytes, halfway, tables, limit, budget)
                : n == 2 ? scan_some<2, kBytes>(codes, chunks.bytes, halfway, tables, limit, budget)
                         : scan_some<1, kBytes>(codes, chunks.bytes, halfway, tables, limit, budget))
                hit |= these;
        }
        if (!hit) continue;
        for (int q = 0; q < kTile; ++q) {
            tile.limits[q] = limits.limit[q];
            tile.hits[q] = limits.all >> q & 1 ? ~uint64_t(0) : hit >> q & 1 ? above(tile.budget[q], 0) : 0;
        }
        return chunk;
    }
    return end;
}

// One query alone: the limits of eight chunks at a time, as far as there are eight. While these are scanned, the next
// eight are fetched, or those halves of them that will do: the processor cannot guess that the others are left out.
template <int kBytes>
int64_t scan_alone(const CodeChunks& chunks, QueryTile& tile, int64_t begin, int64_t end) {
    const int64_t stride = int64_t(chunks.bytes) * kChunkItems;
    int64_t chunk = begin;
    if (chunk + kLanes > end) return scan_tile<kBytes>(chunks, tile, chunk, end);
    Limits limits = limits_of<1, 0>(chunks, chunk, tile);
    for (;;) {
        const bool more = chunk + 2 * kLanes <= end;
        const Limits next = limits_of<1, 0>(chunks, more ? chunk + kLanes : chunk, tile);
        if (more && chunks.far)
            for (uint32_t pending = next.some; pending; pending &= pending - 1) {
                const int i = __builtin_ctz(pending);
                if (next.limit[i] > tile.half_scan_limit) continue;
                const uint8_t* codes = chunks.codes + (chunk + kLanes + i) * stride;
                for (int64_t at = 0; at < stride / 2; at += 64) __builtin_prefetch(codes + at);
            }
        for (uint32_t pending = limits.all | limits.some; pending; pending &= pending - 1) {
            const int i = __builtin_ctz(pending);
            if (!chunks.alive[chunk + i]) continue;
            const bool all = limits.all >> i & 1, halfway = limits.limit[i] <= tile.half_scan_limit;
            const uint8_t* codes = chunks.codes + (chunk + i) * stride;
            // A whole chunk while one is scanned: all eight at once would be waited for.
            if (more && chunks.far && next.some >> i & 1 && next.limit[i] > tile.half_scan_limit)
                for (int64_t at = 0; at < stride; at += 64) __builtin_prefetch(codes + kLanes * stride + at);
            uint8_t* out = tile.budget[0];
            if (!all && !scan_some<1, kBytes>(codes, chunks.bytes, halfway, &tile.tables, limits.limit + i, &out))
                continue;
            tile.limits[0] = limits.limit[i];
            tile.hits[0] = all ? ~uint64_t(0) : above(out, 0);
            return chunk + i;
        }
        chunk += kLanes;
        if (!more) break;
        limits = next;
    }
    return scan_tile<kBytes>(chunks, tile, chunk, end);
}

template <int kBytes>
int64_t scan_any(const CodeChunks& chunks, QueryTile& tile, int64_t begin, int64_t end) {
    return tile.n == 1 ? scan_alone<kBytes>(chunks, tile, begin, end) : scan_tile<kBytes>(chunks, tile, begin, end);
}

int64_t scan_codes(const CodeChunks& chunks, QueryTile& tile, int64_t begin, int64_t end) {
    switch (chunks.bytes) {
        case 8:
            return scan_any<8>(chunks, tile, begin, end);
        case 16:
            return scan_any<16>(chunks, tile, begin, end);
        default:
            return scan_any<0>(chunks, tile, begin, end);
    }
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
