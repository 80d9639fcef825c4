// Whole numbers of the narrowest type that holds them, as a model file has them: told apart at run time, so that what
// reads several such arrays need not exist once for every combination.
#pragma once

#include <cstdint>
#include <span>

namespace bitfm {

class WholeNumbers {
  public:
    WholeNumbers() = default;
    WholeNumbers(std::span<const uint8_t> numbers) : WholeNumbers(numbers.data(), numbers.size(), 1) {}
    WholeNumbers(std::span<const uint16_t> numbers) : WholeNumbers(numbers.data(), numbers.size(), 2) {}
    WholeNumbers(std::span<const uint32_t> numbers) : WholeNumbers(numbers.data(), numbers.size(), 4) {}
    WholeNumbers(std::span<const int32_t> numbers) : WholeNumbers(numbers.data(), numbers.size(), -4) {}
    WholeNumbers(std::span<const int64_t> numbers) : WholeNumbers(numbers.data(), numbers.size(), 8) {}

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    int64_t operator[](size_t i) const {
        switch (bytes_) {
            case 1:
                return static_cast<const uint8_t*>(data_)[i];
            case 2:
                return static_cast<const uint16_t*>(data_)[i];
            case 4:
                return static_cast<const uint32_t*>(data_)[i];
            case -4:
                return static_cast<const int32_t*>(data_)[i];
            default:
                return static_cast<const int64_t*>(data_)[i];
        }
    }

  private:
    WholeNumbers(const void* data, size_t size, int bytes) : data_(data), size_(size), bytes_(bytes) {}

    const void* data_ = nullptr;
    size_t size_ = 0;
    int bytes_ = 8;  // below 0: with a sign; of 8 bytes all are
};

}  // namespace bitfm
