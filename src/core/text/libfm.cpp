#include "text/libfm.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <tuple>

#include "text/number.hpp"

namespace bitfm {

namespace {

enum : uint8_t { kOther = 0, kBlank = 1, kLineEnd = 2 };

constexpr auto kClasses = [] {
    std::array<uint8_t, 256> classes{};
    classes[' '] = classes['\t'] = kBlank;
    classes['\n'] = classes['\r'] = classes['#'] = kLineEnd;
    return classes;
}();

uint8_t class_of(char c) {
    return kClasses[static_cast<unsigned char>(c)];
}

const char* skip_blanks(const char* p) {
    while (class_of(*p) == kBlank) ++p;
    return p;
}

const char* token_end(const char* p) {
    while (class_of(*p) == kOther) ++p;
    return p;
}

// What stands at `p`, in quotes, for an error message: short, and printable whatever the file holds.
std::string quoted(const char* p, const char* end) {
    constexpr ptrdiff_t kShown = 30;
    if (p == end) return "nothing";
    std::string text = "'";
    for (const char* c = p; c < std::min(end, p + kShown); ++c) {
        if (*c >= ' ' && *c <= '~') {
            text += *c;
        } else {
            constexpr char hex[] = "0123456789abcdef";
            text += {'\\', 'x', hex[static_cast<unsigned char>(*c) >> 4], hex[*c & 15]};
        }
    }
    return text + (end - p > kShown ? "...'" : "'");
}

// The line being read, to say where an error is. Every function throws.
struct Place {
    int64_t number;
    const char* begin;

    [[noreturn]] void fail(const char* at, const std::string& message) const {
        throw LibfmError(message, number, at - begin + 1);
    }

    [[noreturn, gnu::noinline, gnu::cold]] void bad_number(const char* p, bool target) const {
        const char* end = token_end(p);
        double value = 0;
        const bool too_large = parse_number(p, value) == end && std::isinf(value);
        std::string word;
        for (const char* c = p + (*p == '-' || *p == '+'); c < end && word.size() < 3; ++c)
            word += static_cast<char>(*c | 0x20);
        fail(p, std::string("expected a ") + (too_large || word == "nan" || word == "inf" ? "finite " : "") +
                    "number " + (target ? "as the target" : "after ':'") + " but found " + quoted(p, end));
    }

    [[noreturn, gnu::noinline, gnu::cold]] void bad_index(const char* p) const {
        const char* end = token_end(p);
        const char* colon = std::find(p, end, ':');
        if (colon == end) fail(p, "expected 'index:value' but found " + quoted(p, end));
        if (std::all_of(p, colon, number::digit) && p != colon)
            fail(p, "expected an index of at most " + std::to_string(LibfmParser::kMaxIndex) + " but found " +
                        quoted(p, colon));
        fail(p, "expected a whole number of 0 or more before ':' but found " + quoted(p, colon));
    }

    [[noreturn, gnu::noinline, gnu::cold]] void zero_index(const char* p) const {
        fail(p, "found index 0 where indices start at 1; if they start at 0, read the file with zero_based=True");
    }

    [[noreturn, gnu::noinline, gnu::cold]] void bad_return(const char* p) const {
        fail(p, "expected a line feed after a carriage return but found " + quoted(p + 1, p + 2));
    }
};

// Reads digits up to a ':' and moves `p` behind it; false if that is not what stands there or it is above
// kMaxIndex.
bool parse_index(const char*& p, int64_t& index) {
    const char* first = p;
    index = 0;
    for (; number::digit(*p); ++p) {
        index = 10 * index + (*p - '0');
        if (index > LibfmParser::kMaxIndex) return false;
    }
    return p != first && *p++ == ':';
}

// `qid:7`, which ranking tools put behind the target, says nothing about the row.
const char* skip_query_id(const Place& place, const char* p) {
    if (std::strncmp(p, "qid:", 4) != 0) return p;
    p += 4;
    const char* end = token_end(p);
    if (p == end || !std::all_of(p + (*p == '-' && p + 1 != end), end, number::digit))
        place.fail(p, "expected a whole number after 'qid:' but found " + quoted(p, end));
    return skip_blanks(end);
}

}  // namespace

LibfmError::LibfmError(const std::string& message, int64_t line, int64_t column)
    : BadInput("line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + message),
      message(message),
      line(line),
      column(column) {}

LibfmParser::LibfmParser(int32_t first_index, size_t n_bytes) : first_index_(first_index), n_bytes_(n_bytes) {
    require(first_index == 0 || first_index == 1,
            "first_index is " + std::to_string(first_index) + "; expected 0 or 1");
    rows_.indptr.push_back(0);
}

// The parser counts as closed until the call it guards succeeds, so an error leaves it closed.
void LibfmParser::start() {
    require(!closed_, "the parser has finished or met an error; make a new one for another file");
    closed_ = true;
}

void LibfmParser::feed(std::string_view chunk) {
    start();
    if (!tail_.empty()) {
        const size_t newline = chunk.find('\n');
        const size_t rest = newline == chunk.npos ? chunk.size() : newline + 1;
        tail_.append(chunk.substr(0, rest));
        chunk.remove_prefix(rest);
        if (tail_.back() == '\n') {
            parse_lines(tail_.data(), tail_.data() + tail_.size());
            tail_.clear();
        }
    }
    const size_t whole = chunk.rfind('\n') + 1;  // 0 if there is none
    parse_lines(chunk.data(), chunk.data() + whole);
    tail_.append(chunk.substr(whole));
    closed_ = false;
}

LibfmRows LibfmParser::finish() {
    start();
    if (!tail_.empty()) {
        tail_ += '\n';
        parse_lines(tail_.data(), tail_.data() + tail_.size());
    }
    rows_.y.shrink();
    rows_.indptr.shrink();
    rows_.indices.shrink();
    rows_.values.shrink();
    return std::move(rows_);
}

// Room for what `n_bytes` of text can hold: a row is 2 bytes at least and an entry 4. Beyond that, the whole
// text is taken to be as dense as the part read, with a margin.
void LibfmParser::reserve(size_t n_bytes) {
    const double whole = n_parsed_ ? 1.05 * static_cast<double>(n_bytes_) / static_cast<double>(n_parsed_) : 0;
    auto likely = [&](size_t count) { return static_cast<size_t>(std::min(whole * static_cast<double>(count), 1e15)); };
    const size_t more_rows = n_bytes / 2 + 1, more_entries = n_bytes / 4 + 1;
    const size_t all_rows = likely(rows_.y.size()) + more_rows;
    const size_t all_entries = likely(rows_.indices.size()) + more_entries;
    rows_.y.reserve_more(more_rows, all_rows);
    rows_.indptr.reserve_more(more_rows, all_rows + 1);
    rows_.indices.reserve_more(more_entries, all_entries);
    rows_.values.reserve_more(more_entries, all_entries);
    n_parsed_ += n_bytes;
}

// [p, end) holds whole lines. Each ends in '\n', which is part of no token, so that tokens need no bounds
// checks.
void LibfmParser::parse_lines(const char* p, const char* end) {
    reserve(static_cast<size_t>(end - p));
    double* const y = rows_.y.data();
    int64_t* const indptr = rows_.indptr.data();
    int32_t* const indices = rows_.indices.data();
    double* const values = rows_.values.data();
    size_t n_rows = rows_.y.size(), n_entries = rows_.indices.size();
    const int64_t first_index = first_index_;

    while (p != end) {
        const Place place{++line_, p};
        p = skip_blanks(p);
        if (class_of(*p) != kLineEnd) {
            const char* after = parse_number(p, y[n_rows]);
            if (!after || class_of(*after) == kOther || std::isinf(y[n_rows])) place.bad_number(p, true);
            p = skip_query_id(place, skip_blanks(after));

            const size_t begin = n_entries;
            int64_t last = -1;
            bool rising = true;
            while (class_of(*p) != kLineEnd) {
                const char* token = p;
                int64_t index;
                if (!parse_index(p, index)) place.bad_index(token);
                if (index < first_index) place.zero_index(token);
                after = parse_number(p, values[n_entries]);
                if (!after || class_of(*after) == kOther || std::isinf(values[n_entries])) place.bad_number(p, false);
                indices[n_entries++] = static_cast<int32_t>(index - first_index);
                rising &= index > last;
                last = index;
                p = skip_blanks(after);
            }
            if (!rising) sort_row(place.begin, begin, n_entries);
            indptr[++n_rows] = static_cast<int64_t>(n_entries);
        }
        if (*p == '#') p = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
        if (*p == '\r' && *++p != '\n') place.bad_return(p - 1);
        ++p;
    }
    rows_.y.set_size(n_rows);
    rows_.indptr.set_size(n_rows + 1);
    rows_.indices.set_size(n_entries);
    rows_.values.set_size(n_entries);
}

// Sorts the entries [begin, end), which the line at `line` holds, and refuses an index that comes twice.
void LibfmParser::sort_row(const char* line, size_t begin, size_t end) {
    int32_t* const indices = rows_.indices.data();
    double* const values = rows_.values.data();
    row_.clear();
    for (size_t i = begin; i < end; ++i) row_.emplace_back(indices[i], values[i]);
    std::sort(row_.begin(), row_.end(), [](auto& a, auto& b) { return a.first < b.first; });
    auto twice = std::adjacent_find(row_.begin(), row_.end(), [](auto& a, auto& b) { return a.first == b.first; });
    if (twice != row_.end()) {
        const int64_t wanted = int64_t{twice->first} + first_index_;
        const char* p = skip_blanks(token_end(skip_blanks(line)));
        for (int seen = 0;; p = skip_blanks(token_end(p))) {
            const char* token = p;
            int64_t index;
            if (parse_index(p, index) && index == wanted && ++seen == 2)
                Place{line_, line}.fail(
                    token, "expected each index once but found index " + std::to_string(wanted) + " a second time");
        }
    }
    for (size_t i = begin; i < end; ++i) std::tie(indices[i], values[i]) = row_[i - begin];
}

void format_libfm(const LibfmView& rows, size_t begin, size_t end, int32_t first_index, std::string& out) {
    require(rows.indptr.size() == rows.y.size() + 1 && rows.indices.size() == rows.values.size(),
            "the lengths of y, indptr, indices and values do not fit together");
    require(begin <= end && end <= rows.y.size(), "the rows to write are not rows of the matrix");
    require(first_index == 0 || first_index == 1,
            "first_index is " + std::to_string(first_index) + "; expected 0 or 1");
    char text[1 + 11 + 1 + kNumberLength];
    for (size_t row = begin; row < end; ++row) {
        const int64_t from = rows.indptr[row], to = rows.indptr[row + 1];
        require(0 <= from && from <= to && static_cast<uint64_t>(to) <= rows.indices.size(),
                "indptr must rise from 0 to the number of entries");
        out.append(text, format_number(text, rows.y[row]));
        int64_t last = -1;
        for (auto i = static_cast<size_t>(from); i < static_cast<size_t>(to); ++i) {
            require(rows.indices[i] > last, "the indices of a row must be 0 or more and rise");
            last = rows.indices[i];
            char* p = text;
            *p++ = ' ';
            p = std::to_chars(p, p + 11, last + first_index).ptr;
            *p++ = ':';
            out.append(text, format_number(p, rows.values[i]));
        }
        out += '\n';
    }
}

}  // namespace bitfm
