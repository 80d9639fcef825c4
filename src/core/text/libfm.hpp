// The text format of libFM and libSVM: one row per line, `target index:value index:value ... # comment`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "text/buffer.hpp"

namespace bitfm {

// A line that is not in the format. Lines and columns (bytes) count from 1; what() names both.
struct LibfmError : BadInput {
    LibfmError(const std::string& message, int64_t line, int64_t column);
    std::string message;
    int64_t line, column;
};

// Rows of a sparse matrix (CSR) and their targets. Within a row the indices rise.
struct LibfmRows {
    Buffer<double> y;
    Buffer<int64_t> indptr;
    Buffer<int32_t> indices;
    Buffer<double> values;
};

class LibfmParser {
  public:
    // The largest index a file may hold, so that the number of columns still is an int32.
    static constexpr int64_t kMaxIndex = INT32_MAX - 1;

    // `first_index` is what the file calls the first column: 0 (libFM) or 1 (libSVM). `n_bytes` is the length
    // of the text, if known: with it memory is reserved once instead of grown.
    explicit LibfmParser(int32_t first_index = 0, size_t n_bytes = 0);

    // The next piece of the file; it may begin and end anywhere.
    void feed(std::string_view chunk);
    // The end of the file. Neither feed() nor finish() may follow this or an error.
    LibfmRows finish();

  private:
    void start();
    void reserve(size_t n_bytes);
    void parse_lines(const char* p, const char* end);
    void sort_row(const char* line, size_t begin, size_t end);

    int32_t first_index_;
    size_t n_bytes_, n_parsed_ = 0;
    int64_t line_ = 0;
    bool closed_ = false;
    LibfmRows rows_;
    std::string tail_;  // a line of which the end is still to come
    std::vector<std::pair<int32_t, double>> row_;
};

// The rows [begin, end) of a CSR matrix as text, appended to `out`; the first column is written as
// `first_index`.
struct LibfmView {
    std::span<const double> y;
    std::span<const int64_t> indptr;
    std::span<const int32_t> indices;
    std::span<const double> values;
};
void format_libfm(const LibfmView& rows, size_t begin, size_t end, int32_t first_index, std::string& out);

}  // namespace bitfm
