// An array that grows by realloc: on Linux a large one moves by remapping its pages, so growing it neither
// copies nor holds two copies, and pages reserved but never written cost nothing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

namespace bitfm {

template <class T>
class Buffer {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    T* data() { return data_.get(); }
    const T* data() const { return data_.get(); }
    size_t size() const { return size_; }

    // Room for `extra` more elements, to be written from data() + size() on and counted with set_size().
    // `likely` is how many there may be in the end: a good guess saves all further growing, a bad one does no
    // harm.
    void reserve_more(size_t extra, size_t likely = 0) {
        if (extra <= capacity_ - size_) return;
        const size_t needed = size_ + extra;
        if (!resize_block(std::max({needed, 2 * capacity_, likely})) && !resize_block(needed)) throw std::bad_alloc();
    }
    void set_size(size_t size) { size_ = size; }

    void push_back(T value) {
        reserve_more(1);
        data_[size_++] = value;
    }

    // Gives back what is not used; data() is never null afterwards.
    void shrink() {
        if (!resize_block(std::max<size_t>(size_, 1))) throw std::bad_alloc();
    }

  private:
    struct Free {
        void operator()(T* block) const { std::free(block); }
    };

    bool resize_block(size_t capacity) {
        if (capacity > static_cast<size_t>(PTRDIFF_MAX) / sizeof(T)) return false;
        void* block = std::realloc(data_.get(), capacity * sizeof(T));
        if (!block) return false;
        (void)data_.release();
        data_.reset(static_cast<T*>(block));
        capacity_ = capacity;
        return true;
    }

    std::unique_ptr<T[], Free> data_;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace bitfm
