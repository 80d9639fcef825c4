#include "metrics/item_lists.hpp"

#include <algorithm>
#include <functional>
#include <string>

#include "base/error.hpp"

namespace bitfm {

void ItemLists::check(const char* name, int64_t n_users, int64_t n_items) const {
    require(n_items >= 0, std::string(name) + ": the number of items must be from 0 up");
    if (start.empty()) return;
    require(static_cast<int64_t>(start.size()) == n_users + 1 && start.front() == 0 &&
                start.back() == static_cast<int64_t>(item.size()) && std::is_sorted(start.begin(), start.end()),
            std::string(name) + ": starts must rise from 0 to the number of items, one per user and one more");
    for (int64_t user = 0; user < n_users; ++user) {
        const auto items = of(user);
        const bool rise = std::adjacent_find(items.begin(), items.end(), std::greater_equal<>()) == items.end();
        if (!items.empty() && (!rise || items.front() < 0 || items.back() >= n_items))
            throw BadInput(std::string(name) + ": a user's items must rise, from 0 to " + std::to_string(n_items - 1));
    }
}

}  // namespace bitfm
