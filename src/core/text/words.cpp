#include "text/words.hpp"

#include "base/sizes.hpp"

namespace bitfm {

namespace {

bool is_letter(unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

bool begins_character(unsigned char c) {
    return (c & 0xC0) != 0x80;
}

}  // namespace

void WordCounter::add(std::string_view text) {
    if (starts.size() == 0) starts.push_back(0);
    const size_t first = numbers.size();
    size_t characters = 0;
    lower_.clear();
    for (size_t i = 0; i <= text.size(); ++i) {
        const auto c = i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(' ');
        if (is_letter(c)) {
            lower_.push_back(static_cast<char>(c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c));
            characters += begins_character(c);
            continue;
        }
        if (characters >= 2) count(lower_, first);
        lower_.clear();
        characters = 0;
    }
    starts.push_back(static_cast<int64_t>(numbers.size()));
}

void WordCounter::count(std::string_view word, size_t first) {
    auto found = by_word_.find(word);
    if (found == by_word_.end()) {
        require_at_most(words_.size() + 1, kMostRows, "texts", "different words");
        words_.emplace_back(word);
        found = by_word_.emplace(words_.back(), static_cast<int32_t>(place_.size())).first;
        place_.push_back(SIZE_MAX);
    }
    size_t& place = place_[static_cast<size_t>(found->second)];
    if (place != SIZE_MAX && place >= first) {
        counts.data()[place] += 1;
        return;
    }
    place = numbers.size();
    numbers.push_back(found->second);
    counts.push_back(1);
}

}  // namespace bitfm
