// What a search believes of a catalogue's numbers, checked. A search of numbers that do not hold never leaves its
// arrays, but may find what is not there, or miss what is.
#pragma once

#include "retrieval/code_catalogue.hpp"
#include "retrieval/vector_catalogue.hpp"

namespace bitfm {

// Positions are below `n_positions` and differ, and what is said of a chunk holds for its items. Of vectors, lengths
// and errors are not computed again: they are as many numbers as the search saves.
void check_items(const CodeCatalogue& catalogue, int64_t n_positions);
void check_items(const VectorCatalogue& catalogue, int64_t n_positions);

}  // namespace bitfm
