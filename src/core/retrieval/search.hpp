// The exact best items of a catalogue for many queries: what all kinds of catalogues share.
//
// A query scores an item constant + (bias + interaction), in double precision, rounded to a float once. A catalogue's
// scan only leaves out what cannot be among the best, so the result is that of scoring everything and sorting, ties by
// lowest position, whatever the number of threads and the instruction set.
//
// A Path knows one kind of catalogue and one kind of query. It has
//     Items, Queries
//     Path(items, queries)
//     start(first_query, n)              n queries to search for together, from a first one on
//     scan(kernels, begin, end)          the first chunk of a range with hits, or end
//     hits(lane)                         ... and which items of it may reach a query's threshold
//     within_reach(kernels, lane, chunk, can_win)   ... of these, those that still may win
//     score(kernels, lane, slot)        bias + interaction
//     set_threshold(lane, score)         leave out what scores less
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include "base/isa.hpp"
#include "base/parallel.hpp"
#include "retrieval/queries.hpp"
#include "retrieval/top.hpp"

namespace bitfm {

template <class Path>
class TileSearch {
  public:
    TileSearch(const typename Path::Items& items, const typename Path::Queries& queries, const Exclusions& excluded,
               const Scored& scored, int64_t n)
        : items_(items),
          excluded_(excluded),
          scored_(scored),
          path_(items, queries),
          constants_(queries.constants),
          best_(kTile, Top(n)) {}

    // What has a score is taken first, by one of the shards; the others only leave it out.
    void start(int64_t first, int n, bool take_scored) {
        first_ = first;
        n_ = n;
        for (Top& best : best_) best.clear();
        path_.start(first, n);
        if (!take_scored || scored_.start.empty()) return;
        for (int lane = 0; lane < n_; ++lane) take_known(lane);
    }

    void scan(int64_t begin, int64_t end) {
        const ScanKernels& kernels = isa().kernels->scans;
        for (int64_t at = begin; (at = path_.scan(kernels, at, end)) < end; ++at)
            for (int lane = 0; lane < n_; ++lane)
                if (const uint64_t hits = path_.hits(lane) & items_.live[at]) take(kernels, lane, at, hits);
    }

    std::span<const RankKey> best(int lane) { return best_[lane].sorted(); }

  private:
    static constexpr double kSlack = 0x1p-21;  // what a path's single-precision arithmetic may lose, and more

    void take(const ScanKernels& kernels, int lane, int64_t chunk, uint64_t hits) {
        Top& best = best_[lane];
        if (best.full()) {
            const RankKey worst = best.worst();
            hits &= path_.within_reach(kernels, lane, chunk, [&](double at_best) {
                return rank_key(rounded(lane, at_best), items_.chunk_first[chunk]) > worst;
            });
        }
        bool changed = false;
        for (; hits; hits &= hits - 1) {
            const int64_t slot = chunk * kChunkItems + std::countr_zero(hits);
            const int32_t position = items_.position[slot];
            const RankKey key = rank_key(rounded(lane, path_.score(kernels, lane, slot)), position);
            if (key <= best.worst() || excluded_.hold(first_ + lane, position)) continue;
            if (scored_.hold(first_ + lane, position)) continue;
            best.push(key);
            changed = true;
        }
        if (changed) raise_threshold(lane);
    }

    void take_known(int lane) {
        const auto query = static_cast<size_t>(first_ + lane);
        for (int64_t i = scored_.start[query]; i < scored_.start[query + 1]; ++i) {
            const int32_t position = scored_.position[static_cast<size_t>(i)];
            const RankKey key = rank_key(scored_.score[static_cast<size_t>(i)], position);
            if (key <= best_[lane].worst() || excluded_.hold(first_ + lane, position)) continue;
            const int64_t slot = scored_.slot_of[static_cast<size_t>(position)];
            if (slot >= 0 && items_.live[slot / kChunkItems] >> slot % kChunkItems & 1) best_[lane].push(key);
        }
        raise_threshold(lane);
    }

    void raise_threshold(int lane) {
        Top& best = best_[lane];
        if (!best.full()) return;
        const double reached = score_of(best.worst()), constant = constants_[first_ + lane];
        if (!std::isfinite(reached)) return;  // there is nothing to compare with
        const double slack = kSlack * (std::abs(reached) + std::abs(constant)) + std::numeric_limits<float>::min();
        path_.set_threshold(lane, static_cast<float>(reached - constant - slack));
    }

    float rounded(int lane, double of_item) const { return static_cast<float>(constants_[first_ + lane] + of_item); }

    const typename Path::Items& items_;
    const Exclusions& excluded_;
    const Scored& scored_;
    Path path_;
    std::span<const double> constants_;
    std::vector<Top> best_;
    int64_t first_ = 0;
    int n_ = 0;
};

// A task is some tiles of queries against a shard of the catalogue: one shard, unless there are fewer tiles than
// threads. The tiles take turns at a block of chunks that the cache holds.
template <class Path>
void search(Team& team, const typename Path::Items& items, const typename Path::Queries& queries,
            const Exclusions& excluded, const Scored& scored, const Found& found) {
    constexpr int64_t kShardChunks = 4096, kManyFound = 100000, kMostTiles = 8, kBlockBytes = 1 << 18;
    const auto n_queries = static_cast<int64_t>(queries.constants.size());
    queries.check(items.width());
    excluded.check(n_queries);
    scored.check(n_queries, items.slots());
    found.check(n_queries);
    if (found.n == 0 || n_queries == 0) return;

    const int64_t width = found.n <= kManyFound ? kTile : 1;  // each query of a tile keeps what it has found
    const int64_t n_tiles = (n_queries + width - 1) / width, n_chunks = items.chunks;
    const int64_t n_shards = std::clamp<int64_t>(n_tiles < team.size() ? n_chunks / kShardChunks : 1, 1, team.size());
    const int64_t block = std::max<int64_t>(kBlockBytes / items.chunk_bytes(), 1);
    const int64_t together = n_chunks <= block ? 1 : std::clamp<int64_t>(n_tiles / team.size(), 1, kMostTiles);
    const int64_t n_groups = (n_tiles + together - 1) / together;
    std::vector<std::vector<RankKey>> parts(static_cast<size_t>(n_shards > 1 ? n_queries * n_shards : 0));
    std::vector<std::vector<std::unique_ptr<TileSearch<Path>>>> of_threads(static_cast<size_t>(team.size()));
    team.run(n_groups * n_shards, 1, [&](int64_t task, int64_t, int thread) {
        auto& searches = of_threads[static_cast<size_t>(thread)];
        const int64_t shard = task % n_shards, first_tile = task / n_shards * together;
        const int64_t last_tile = std::min(first_tile + together, n_tiles);
        for (int64_t tile = first_tile; tile < last_tile; ++tile) {
            const auto at = static_cast<size_t>(tile - first_tile);
            if (at == searches.size())
                searches.push_back(std::make_unique<TileSearch<Path>>(items, queries, excluded, scored, found.n));
            searches[at]->start(tile * width, static_cast<int>(std::min(width, n_queries - tile * width)), shard == 0);
        }
        const int64_t end = n_chunks * (shard + 1) / n_shards;
        for (int64_t begin = n_chunks * shard / n_shards; begin < end; begin += block) {
            for (int64_t tile = first_tile; tile < last_tile; ++tile)
                searches[static_cast<size_t>(tile - first_tile)]->scan(begin, std::min(begin + block, end));
            if (thread == 0) team.poll();
        }
        for (int64_t query = first_tile * width; query < std::min(last_tile * width, n_queries); ++query) {
            const auto tile = static_cast<size_t>(query / width - first_tile);
            const auto keys = searches[tile]->best(static_cast<int>(query % width));
            if (n_shards == 1)
                found.write(query, keys);
            else
                parts[static_cast<size_t>(query * n_shards + shard)].assign(keys.begin(), keys.end());
        }
    });
    if (n_shards == 1) return;
    for (int64_t query = 0; query < n_queries; ++query) {
        Top best(found.n);
        for (int64_t shard = 0; shard < n_shards; ++shard)
            for (RankKey key : parts[static_cast<size_t>(query * n_shards + shard)]) best.push(key);
        found.write(query, best.sorted());
    }
}

}  // namespace bitfm
