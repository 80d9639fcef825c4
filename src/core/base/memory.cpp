#include "base/memory.hpp"

#include <cstdlib>  // which says whether the C library is glibc

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace bitfm {

void release_memory() {
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__)
    malloc_trim(0);
#endif
}

}  // namespace bitfm
