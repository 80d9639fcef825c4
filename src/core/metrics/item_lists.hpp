// For every user, some items: those that are relevant to him, or those that are left out.
#pragma once

#include <cstdint>
#include <span>

namespace bitfm {

struct ItemLists {
    std::span<const int64_t> start;  // one per user and one more; empty: no user has any
    std::span<const int32_t> item;   // a user's rise

    std::span<const int32_t> of(int64_t user) const {
        if (start.empty()) return {};
        const auto u = static_cast<size_t>(user);
        return item.subspan(static_cast<size_t>(start[u]), static_cast<size_t>(start[u + 1] - start[u]));
    }

    void check(const char* name, int64_t n_users, int64_t n_items) const;
};

}  // namespace bitfm
