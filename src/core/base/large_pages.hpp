// Memory for arrays that are read again and again: in pages of 2 MB where the system has them, since looking up many
// small ones takes longer than reading them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <vector>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace bitfm {

template <class T>
struct LargePages {
    using value_type = T;
    static constexpr std::size_t kPage = std::size_t(1) << 21;

    LargePages() = default;
    template <class U>
    LargePages(const LargePages<U>&) {}

    T* allocate(std::size_t n) {
        if (n > (static_cast<std::size_t>(-1) - kPage) / sizeof(T)) throw std::bad_alloc();
        const std::size_t bytes = n * sizeof(T);
        const bool large = bytes >= 2 * kPage;
        const std::size_t unit = large ? kPage : std::max(alignof(std::max_align_t), alignof(T));
        void* memory = std::aligned_alloc(unit, (bytes + unit - 1) / unit * unit);
        if (!memory && bytes) throw std::bad_alloc();
#if defined(__linux__)
        if (large) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, nothing is lost
#endif
        return static_cast<T*>(memory);
    }
    void deallocate(T* memory, std::size_t) { std::free(memory); }

    template <class U>
    bool operator==(const LargePages<U>&) const {
        return true;
    }
};

template <class T>
using LargeVector = std::vector<T, LargePages<T>>;

// The same for what is written before it is read: it is not set to 0 first.
template <class T>
struct UnsetLargePages : LargePages<T> {
    template <class U>
    struct rebind {
        using other = UnsetLargePages<U>;
    };
    UnsetLargePages() = default;
    template <class U>
    UnsetLargePages(const UnsetLargePages<U>&) {}
    template <class U>
    void construct(U* at) noexcept {
        ::new (static_cast<void*>(at)) U;
    }
};

template <class T>
using ScratchVector = std::vector<T, UnsetLargePages<T>>;

}  // namespace bitfm
