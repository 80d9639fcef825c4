// Sums of the codes of items' features as Python builds them.
#pragma once

#include "bind/bind.hpp"
#include "retrieval/item_sums.hpp"

namespace bitfm {

// Keeps the Python arrays live that the sums only borrow.
struct BoundItemSums {
    ItemSums sums;
    std::vector<nb::object> arrays;
    bool frozen = false;  // a catalogue relies on it

    void add(ItemField field, std::initializer_list<nb::object> kept) {
        require(!frozen, "the sums are in use and cannot grow any more");
        sums.add(std::move(field));
        arrays.insert(arrays.end(), kept);
    }
    const ItemSums& ready() {
        sums.check();
        frozen = true;
        return sums;
    }
};

}  // namespace bitfm
