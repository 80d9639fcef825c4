// Which items of a catalogue of vectors may reach a query's score. Included inside an instruction set's namespace.
//
// Items are signed bytes and queries unsigned ones, 64 too large, two dimensions at a time: a pair of products fits in
// 16 bits. Sums may wrap around on the way; in the end they fit, for the vectors' lengths see to that. What the 64 too
// many add is the item's alone, and its sum starts by that much below zero.

// What each query must reach in whole numbers, for a chunk. Returns which queries can reach it at all.
BITFM_INLINE uint32_t chunk_goals(const VectorChunks& chunks, const VectorTile& tile, int64_t chunk, int32_t* goals) {
    const float bias = chunks.bias[chunk], length = chunks.length[chunk], error = chunks.error[chunk];
    const float rest = chunks.rest[chunk], inverse = chunks.inverse_step[chunk];
#if defined(__AVX2__)
    const auto times = [](const float* of_query, float of_chunk) {
        return _mm256_mul_ps(_mm256_loadu_ps(of_query), _mm256_set1_ps(of_chunk));
    };
    const __m256 lack = _mm256_sub_ps(_mm256_loadu_ps(tile.wanted), _mm256_set1_ps(bias));
    const __m256 beside =
        _mm256_add_ps(_mm256_add_ps(times(tile.error, length), times(tile.length, error)), times(tile.rest, rest));
    const __m256 needed = _mm256_sub_ps(lack, beside);
    const __m256 hopeless = _mm256_cmp_ps(needed, times(tile.length, length), _CMP_GT_OQ);
    __m256 goal = _mm256_mul_ps(_mm256_mul_ps(needed, _mm256_loadu_ps(tile.inverse_step)), _mm256_set1_ps(inverse));
    goal = _mm256_sub_ps(goal, _mm256_set1_ps(kGoalSlack));
    goal = _mm256_min_ps(_mm256_max_ps(goal, _mm256_set1_ps(-kMostGoal)), _mm256_set1_ps(kMostGoal));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(goals), _mm256_cvttps_epi32(_mm256_floor_ps(goal)));
    return ~uint32_t(_mm256_movemask_ps(hopeless)) & 0xff;
#else
    uint32_t hopeful = 0;
    for (int q = 0; q < kTile; ++q) {
        const float beside = tile.error[q] * length + tile.length[q] * error + tile.rest[q] * rest;
        const float needed = tile.wanted[q] - bias - beside;
        hopeful |= uint32_t(!(needed > tile.length[q] * length)) << q;
        float goal = needed * tile.inverse_step[q] * inverse - kGoalSlack;
        goal = goal > -kMostGoal ? goal : -kMostGoal;
        goal = goal < kMostGoal ? goal : kMostGoal;
        const auto whole = int32_t(goal);
        goals[q] = whole - (float(whole) > goal);
    }
    return hopeful;
#endif
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

int64_t scan_vectors(const VectorChunks& chunks, VectorTile& tile, int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
        int32_t goals[kTile];
        uint32_t left = chunk_goals(chunks, tile, chunk, goals) & ((1u << tile.n) - 1);
        if (!left || !chunks.alive[chunk]) continue;
        for (int q = 0; q < kTile; ++q) tile.hits[q] = 0;
        uint64_t any = 0;
        while (left) {
            const int n = left & (left - 1) ? 2 : 1;
            const uint32_t* queries[2];
            int32_t goal[2];
            uint64_t hits[2];
            int of[2];
            for (int i = 0; i < n; ++i, left &= left - 1) {
                of[i] = __builtin_ctz(left);
                queries[i] = tile.values + int64_t(of[i]) * chunks.pairs;
                goal[i] = goals[of[i]];
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

// Eight floats, as doubles.
BITFM_INLINE Lanes<double> widen(const float* from) {
    using D = Lanes<double>;
    typedef float Narrow __attribute__((vector_size(D::kPer * sizeof(float)), aligned(sizeof(float)), may_alias));
    D out;
    for (int i = 0; i < D::kParts; ++i)
        out.part[i] = __builtin_convertvector(*reinterpret_cast<const Narrow*>(from + i * D::kPer), D::Vector);
    return out;
}

double exact_product(const float* a, const float* b, int64_t width) {
    Lanes<double> sum = Lanes<double>::fill(0);
    int64_t t = 0;
    for (; t + kLanes <= width; t += kLanes) sum += widen(a + t) * widen(b + t);
    double rest = 0;
    for (; t < width; ++t) rest += double(a[t]) * double(b[t]);
    return sum.sum() + rest;
}
