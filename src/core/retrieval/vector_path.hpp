// The search of a catalogue of vectors.
#pragma once

#include <cstdint>
#include <vector>

#include "retrieval/queries.hpp"
#include "retrieval/vector_catalogue.hpp"

namespace bitfm {

class VectorPath {
  public:
    using Items = VectorCatalogue;
    using Queries = RealQueries;

    VectorPath(const VectorCatalogue& items, const RealQueries& queries);

    void start(int64_t first, int n);
    int64_t scan(const ScanKernels& kernels, int64_t begin, int64_t end) {
        return few_live_ ? next_live(begin, end) : kernels.scan_vectors(chunks_, tile_, begin, end);
    }
    uint64_t hits(int lane) const { return tile_.hits[lane]; }
    template <class CanWin>
    uint64_t within_reach(const ScanKernels&, int lane, int64_t chunk, CanWin&& can_win) const {
        // All that a product of rounded vectors cannot tell are ties without one: of vectors that are zero.
        const double most = (static_cast<double>(tile_.length[lane]) + tile_.error[lane]) * items_.length[chunk] +
                            static_cast<double>(tile_.rest[lane]) * items_.rest[chunk];
        return can_win(static_cast<double>(items_.chunk_bias[chunk]) + most) ? ~uint64_t(0) : 0;
    }
    double score(const ScanKernels& kernels, int lane, int64_t slot) {
        const int64_t at = items_.vector_of(slot);
        const float* vector =
            at < 0 ? items_.sums->vector(items_.position[slot], terms_) : items_.vectors.data() + at * items_.width();
        return static_cast<double>(items_.bias[slot]) + kernels.exact_product(vector_[lane], vector, items_.width());
    }
    void set_threshold(int lane, float score) { tile_.threshold[lane] = score; }

  private:
    void prepare(int lane, std::span<const float> vector);
    // The first chunk with a live item, all of which are then scored.
    int64_t next_live(int64_t begin, int64_t end);

    const VectorCatalogue& items_;
    const RealQueries& queries_;
    const bool few_live_;  // so few that to score them takes less time than to scan what is around them
    Basis basis_;
    VectorChunks chunks_;
    VectorTile tile_{};
    std::vector<uint32_t> values_, plain_;
    std::vector<double> projected_;
    const float* vector_[kTile] = {};
    ItemSums::Terms terms_;
};

}  // namespace bitfm
