// Which items of a catalogue of vectors may reach a query's score.
//
// In the leading dimensions an item is v = s x + ε and the query p = s' y + ε', with integers x, y, steps s, s' and
// what rounding lost, ε. With bounds of lengths (`length` of v and of s' y, `error` of ε, `rest` of the other
// dimensions),
//     ⟨p, v⟩ ≤ s s' ⟨x, y⟩ + |s' y| |ε| + |ε'| |v| + |rest'| |rest|,
// so an item reaches the threshold only if ⟨x, y⟩ ≥ goal = (threshold − bias − the last three terms) / (s s').
//
// The instruction multiplies unsigned bytes by signed ones and adds two neighbours into 16 bits. So queries, from −64
// to 64, are stored 64 too large (kOffset): 2 · 128 · 127 < 2^15, a pair of products fits. Σ x (y + 64) is ⟨x, y⟩ + 64
// Σ x, hence a sum starts from −64 Σ x, which is the item's alone. Sums wrap around on the way, which does no harm:
// modulo 2^16 the order of additions is all the same, and the last one fits, for |⟨x, y⟩| ≤ |x| |y| ≤ 175 · 185 < 2^15.
//
// Nibbles are the other way round: items from −8 to 7, stored 8 too large (kNibbleOffset), are the unsigned ones, the
// query is signed, and sums start from −8 Σ y. They are coarser, so their errors are larger and their goals lower: what
// they leave out is out, what they let through is multiplied again.
#pragma once

#include "kernels/lanes.hpp"

namespace bitfm::BITFM_ISA {
namespace {

// Eight goals in whole numbers, and which can be reached at all. They are of eight queries for one chunk or of one
// query for eight chunks, so each input is eight numbers (stride 1) or one (stride 0).
struct Goals {
    static_assert(kTile == kLanes);
    int32_t goal[kLanes];
    uint32_t reachable;
};

template <int kOfChunk, int kOfQuery>
BITFM_INLINE Goals goals_of(const VectorChunks& chunks, int64_t chunk, const VectorTile& tile, const float* errors,
                            const float* inverse_steps) {
    static_assert(kOfChunk + kOfQuery == 1);
    const float *bias = chunks.bias + chunk, *length = chunks.length + chunk, *error = errors + chunk;
    const float *rest = chunks.rest + chunk, *inverse = inverse_steps + chunk;
    Goals out;
#if defined(__AVX2__)
    const auto of_chunk = [&](const float* p) { return kOfChunk ? _mm256_loadu_ps(p) : _mm256_broadcast_ss(p); };
    const auto of_query = [&](const float* p) { return kOfQuery ? _mm256_loadu_ps(p) : _mm256_broadcast_ss(p); };
    const auto times = [&](const float* a, const float* b) { return _mm256_mul_ps(of_query(a), of_chunk(b)); };
    const __m256 deficit = _mm256_sub_ps(of_query(tile.threshold), of_chunk(bias));
    const __m256 beside =
        _mm256_add_ps(_mm256_add_ps(times(tile.error, length), times(tile.length, error)), times(tile.rest, rest));
    const __m256 needed = _mm256_sub_ps(deficit, beside);
    const __m256 unreachable = _mm256_cmp_ps(needed, times(tile.length, length), _CMP_GT_OQ);
    __m256 goal = _mm256_mul_ps(_mm256_mul_ps(needed, of_query(tile.inverse_step)), of_chunk(inverse));
    goal = _mm256_sub_ps(goal, _mm256_set1_ps(kGoalSlack));
    goal = _mm256_min_ps(_mm256_max_ps(goal, _mm256_set1_ps(-kMostGoal)), _mm256_set1_ps(kMostGoal));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out.goal), _mm256_cvttps_epi32(_mm256_floor_ps(goal)));
    out.reachable = ~uint32_t(_mm256_movemask_ps(unreachable)) & 0xff;
#else
    out.reachable = 0;
    for (int i = 0; i < kLanes; ++i) {
        const int q = i * kOfQuery, c = i * kOfChunk;
        const float beside = tile.error[q] * length[c] + tile.length[q] * error[c] + tile.rest[q] * rest[c];
        const float needed = tile.threshold[q] - bias[c] - beside;
        out.reachable |= uint32_t(!(needed > tile.length[q] * length[c])) << i;
        float goal = needed * tile.inverse_step[q] * inverse[c] - kGoalSlack;
        goal = goal > -kMostGoal ? goal : -kMostGoal;
        goal = goal < kMostGoal ? goal : kMostGoal;
        const auto whole = int32_t(goal);
        out.goal[i] = whole - (float(whole) > goal);
    }
#endif
    return out;
}

// hits[q] = the items of a chunk whose product with query q is its goal or more.
template <int kQueries>
BITFM_INLINE void multiply_chunk(const VectorChunks& chunks, int64_t chunk, const uint32_t* const* queries,
                                 const int32_t* goals, uint64_t* hits) {
    const int8_t* items = chunks.values + chunk * chunks.pairs * 2 * kChunkItems;
    const int16_t* start = chunks.start + chunk * kChunkItems;
#if defined(__AVX512BW__)
    __m512i sum[kQueries][2];
    for (int q = 0; q < kQueries; ++q)
        for (int h = 0; h < 2; ++h) sum[q][h] = _mm512_loadu_si512(start + h * 32);
    for (int t = 0; t < chunks.pairs; ++t)
        for (int q = 0; q < kQueries; ++q) {
            const __m512i query = _mm512_set1_epi32(int32_t(queries[q][t]));
            for (int h = 0; h < 2; ++h) {
                const __m512i item = _mm512_loadu_si512(items + t * 2 * kChunkItems + h * 64);
                sum[q][h] = _mm512_add_epi16(sum[q][h], _mm512_maddubs_epi16(query, item));
            }
        }
    for (int q = 0; q < kQueries; ++q) {
        const __m512i goal = _mm512_set1_epi16(int16_t(goals[q]));
        hits[q] = uint64_t(_mm512_cmpge_epi16_mask(sum[q][0], goal)) |
                  uint64_t(_mm512_cmpge_epi16_mask(sum[q][1], goal)) << 32;
    }
#elif defined(__AVX2__)
    __m256i sum[kQueries][4];
    for (int q = 0; q < kQueries; ++q)
        for (int h = 0; h < 4; ++h) sum[q][h] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(start + h * 16));
    for (int t = 0; t < chunks.pairs; ++t) {
        __m256i item[4];
        for (int h = 0; h < 4; ++h)
            item[h] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(items + t * 2 * kChunkItems + h * 32));
        for (int q = 0; q < kQueries; ++q) {
            const __m256i query = _mm256_set1_epi32(int32_t(queries[q][t]));
            for (int h = 0; h < 4; ++h) sum[q][h] = _mm256_add_epi16(sum[q][h], _mm256_maddubs_epi16(query, item[h]));
        }
    }
    for (int q = 0; q < kQueries; ++q) {
        const __m256i below = _mm256_set1_epi16(int16_t(goals[q] - 1));
        uint64_t found = 0;
        for (int h = 0; h < 2; ++h) {
            const __m256i first = _mm256_cmpgt_epi16(sum[q][2 * h], below);
            const __m256i second = _mm256_cmpgt_epi16(sum[q][2 * h + 1], below);
            const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi16(first, second), 0xd8);
            found |= uint64_t(uint32_t(_mm256_movemask_epi8(both))) << (32 * h);
        }
        hits[q] = found;
    }
#else
    for (int q = 0; q < kQueries; ++q) {
        uint16_t sum[kChunkItems];
        for (int i = 0; i < kChunkItems; ++i) sum[i] = uint16_t(start[i]);
        for (int t = 0; t < chunks.pairs; ++t) {
            const int first = int(queries[q][t] & 0xff), second = int(queries[q][t] >> 8 & 0xff);
            const int8_t* item = items + t * 2 * kChunkItems;
            for (int i = 0; i < kChunkItems; ++i)
                sum[i] = uint16_t(sum[i] + first * item[2 * i] + second * item[2 * i + 1]);
        }
        hits[q] = 0;
        for (int i = 0; i < kChunkItems; ++i) hits[q] |= uint64_t(int16_t(sum[i]) >= goals[q]) << i;
    }
#endif
}

// Whether the product of an item of a chunk and the first query may be the goal or more, by the nibbles alone.
BITFM_INLINE bool nibbles_reach(const VectorChunks& chunks, const VectorTile& tile, int64_t chunk, int32_t goal) {
    const auto below = int16_t(goal - 1);
    const uint8_t* nibbles = chunks.nibbles + chunk * chunks.pairs * kChunkItems;
    const auto start = int16_t(-kNibbleOffset * tile.plain_sum);
#if defined(__AVX512BW__)
    const __m512i low = _mm512_set1_epi8(15);
    __m512i sum[2];
    sum[0] = sum[1] = _mm512_set1_epi16(start);
    for (int t = 0; t < chunks.pairs; ++t) {
        const __m512i query = _mm512_set1_epi32(int32_t(tile.plain_values[t]));
        const __m512i both = _mm512_loadu_si512(nibbles + t * kChunkItems);
        const __m512i upper = _mm512_and_si512(_mm512_srli_epi16(both, 4), low);
        sum[0] = _mm512_add_epi16(sum[0], _mm512_maddubs_epi16(_mm512_and_si512(both, low), query));
        sum[1] = _mm512_add_epi16(sum[1], _mm512_maddubs_epi16(upper, query));
    }
    return _mm512_cmpgt_epi16_mask(_mm512_max_epi16(sum[0], sum[1]), _mm512_set1_epi16(below)) != 0;
#elif defined(__AVX2__)
    const __m256i low = _mm256_set1_epi8(15);
    __m256i sum[4];
    for (__m256i& s : sum) s = _mm256_set1_epi16(start);
    for (int t = 0; t < chunks.pairs; ++t) {
        const __m256i query = _mm256_set1_epi32(int32_t(tile.plain_values[t]));
        for (int h = 0; h < 2; ++h) {
            const auto* at = reinterpret_cast<const __m256i*>(nibbles + t * kChunkItems + h * 32);
            const __m256i both = _mm256_loadu_si256(at);
            const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(both, 4), low);
            sum[h] = _mm256_add_epi16(sum[h], _mm256_maddubs_epi16(_mm256_and_si256(both, low), query));
            sum[h + 2] = _mm256_add_epi16(sum[h + 2], _mm256_maddubs_epi16(upper, query));
        }
    }
    const __m256i most = _mm256_max_epi16(_mm256_max_epi16(sum[0], sum[1]), _mm256_max_epi16(sum[2], sum[3]));
    return _mm256_movemask_epi8(_mm256_cmpgt_epi16(most, _mm256_set1_epi16(below))) != 0;
#else
    uint16_t sum[kChunkItems];
    for (uint16_t& s : sum) s = uint16_t(start);
    for (int t = 0; t < chunks.pairs; ++t)
        for (int i = 0; i < kChunkItems; ++i) {
            const int query = int8_t(tile.plain_values[t] >> 8 * (i % 2));
            sum[i / 2] = uint16_t(sum[i / 2] + query * (nibbles[t * kChunkItems + i] & 15));
            sum[32 + i / 2] = uint16_t(sum[32 + i / 2] + query * (nibbles[t * kChunkItems + i] >> 4));
        }
    bool any = false;
    for (uint16_t s : sum) any |= int16_t(s) > below;
    return any;
#endif
}

int64_t scan_together(const VectorChunks& chunks, VectorTile& tile, int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
        const Goals goals = goals_of<0, 1>(chunks, chunk, tile, chunks.error, chunks.inverse_step);
        uint32_t pending = goals.reachable & ((1u << tile.n) - 1);
        if (!pending || !chunks.live[chunk]) continue;
        for (int q = 0; q < kTile; ++q) tile.hits[q] = 0;
        uint64_t any = 0;
        while (pending) {
            const int n = pending & (pending - 1) ? 2 : 1;
            const uint32_t* queries[2];
            int32_t goal[2];
            uint64_t hits[2];
            int of[2];
            for (int i = 0; i < n; ++i, pending &= pending - 1) {
                of[i] = __builtin_ctz(pending);
                queries[i] = tile.values + int64_t(of[i]) * chunks.pairs;
                goal[i] = goals.goal[of[i]];
            }
            if (n == 2)
                multiply_chunk<2>(chunks, chunk, queries, goal, hits);
            else
                multiply_chunk<1>(chunks, chunk, queries, goal, hits);
            for (int i = 0; i < n; ++i) any |= tile.hits[of[i]] = hits[i];
        }
        if (any) return chunk;
    }
    return end;
}

// One query against nibbles, which are half as much to read, and against the whole of what they let through. The goals
// are of eight chunks at a time, as far as there are eight; while these are scanned, the next ones are fetched, for the
// processor cannot guess which are left out.
int64_t scan_nibbles(const VectorChunks& chunks, VectorTile& tile, int64_t begin, int64_t end) {
    const int64_t stride = int64_t(chunks.pairs) * kChunkItems;
    const auto goals_at = [&](int64_t chunk) {
        return goals_of<1, 0>(chunks, chunk, tile, chunks.nibble_error, chunks.nibble_inverse_step);
    };
    int64_t chunk = begin;
    if (chunk + kLanes > end) return scan_together(chunks, tile, chunk, end);
    Goals goals = goals_at(chunk);
    for (;;) {
        const bool more = chunk + 2 * kLanes <= end;
        const Goals next = goals_at(more ? chunk + kLanes : chunk);
        uint32_t to_fetch = more ? next.reachable : 0;
        for (uint32_t pending = goals.reachable; pending; pending &= pending - 1) {
            const int i = __builtin_ctz(pending);
            if (to_fetch) {
                const uint8_t* nibbles = chunks.nibbles + (chunk + kLanes + __builtin_ctz(to_fetch)) * stride;
                for (int64_t at = 0; at < stride; at += 64) __builtin_prefetch(nibbles + at, 0, 3);
                to_fetch &= to_fetch - 1;
            }
            if (!chunks.live[chunk + i] || !nibbles_reach(chunks, tile, chunk + i, goals.goal[i])) continue;
            const int64_t found = scan_together(chunks, tile, chunk + i, chunk + i + 1);
            if (found == chunk + i) return found;
        }
        chunk += kLanes;
        if (!more) break;
        goals = next;
    }
    return scan_together(chunks, tile, chunk, end);
}

int64_t scan_vectors(const VectorChunks& chunks, VectorTile& tile, int64_t begin, int64_t end) {
    return tile.n == 1 && chunks.nibbles ? scan_nibbles(chunks, tile, begin, end)
                                         : scan_together(chunks, tile, begin, end);
}

double exact_product(const float* a, const float* b, int64_t width) {
    Lanes<double> sum = Lanes<double>::fill(0);
    int64_t t = 0;
    for (; t + kLanes <= width; t += kLanes) sum += widen(a + t) * widen(b + t);
    double rest = 0;
    for (; t < width; ++t) rest += double(a[t]) * double(b[t]);
    return sum.sum() + rest;
}

}  // namespace
}  // namespace bitfm::BITFM_ISA
