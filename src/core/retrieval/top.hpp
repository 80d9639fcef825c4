// The best n of many scored items. A score and a position make one number, so that the larger is the better: ties go to
// the lowest position.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace bitfm {

using RankKey = uint64_t;

inline RankKey rank_key(float score, int32_t position) {
    const auto bits = std::bit_cast<uint32_t>(score + 0.0f);          // -0 ties with 0
    const uint32_t rising = bits >> 31 ? ~bits : bits | 0x80000000u;  // the order of floats as that of integers
    return uint64_t(rising) << 32 | uint32_t(~position);
}
inline float score_of(RankKey key) {
    const auto rising = static_cast<uint32_t>(key >> 32);
    return std::bit_cast<float>(rising >> 31 ? rising & 0x7fffffffu : ~rising);
}
inline int32_t position_of(RankKey key) {
    return static_cast<int32_t>(~static_cast<uint32_t>(key));
}

class Top {
  public:
    explicit Top(int64_t n) : n_(static_cast<size_t>(n)) {}

    bool full() const { return keys_.size() == n_; }
    // What a key must exceed to get in.
    RankKey worst() const { return full() ? keys_.front() : 0; }

    void push(RankKey key) {
        if (!full()) {
            keys_.push_back(key);
            std::push_heap(keys_.begin(), keys_.end(), std::greater<>());
        } else if (key > keys_.front()) {
            replace_worst(key);
        }
    }
    // Best first. What follows must be clear().
    std::span<const RankKey> sorted() {
        std::sort(keys_.begin(), keys_.end(), std::greater<>());
        return keys_;
    }
    void clear() { keys_.clear(); }

  private:
    void replace_worst(RankKey key) {
        size_t hole = 0;
        for (size_t child; (child = 2 * hole + 1) < n_; hole = child) {
            child += child + 1 < n_ && keys_[child + 1] < keys_[child];
            if (key <= keys_[child]) break;
            keys_[hole] = keys_[child];
        }
        keys_[hole] = key;
    }

    size_t n_;
    std::vector<RankKey> keys_;  // a heap, the worst first
};

}  // namespace bitfm
