// Words of texts, and how often each text has them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "text/buffer.hpp"

namespace bitfm {

// A word is a run of two or more letters, digits and underscores, in lower case. All characters beyond ASCII are
// letters here: which of them are, and their lower case, is for the caller to settle.
class WordCounter {
  public:
    void add(std::string_view text);

    int32_t n_words() const { return static_cast<int32_t>(words_.size()); }
    const std::deque<std::string>& words() const { return words_; }  // the number of a word is its place

    Buffer<int64_t> starts;   // where each text begins among the following, and where the last one ends
    Buffer<int32_t> numbers;  // of a text's words, each once, in the order of their first occurrence
    Buffer<float> counts;     // how often it occurs in the text

  private:
    void count(std::string_view word, size_t first);

    std::deque<std::string> words_;  // which stay where they are
    std::unordered_map<std::string_view, int32_t> by_word_;
    std::vector<size_t> place_;  // of a word's last count
    std::string lower_;
};

}  // namespace bitfm
