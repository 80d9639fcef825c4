// Memory that the process no longer needs.
#pragma once

namespace bitfm {

// Gives memory that was freed back to the system: an allocator may keep hundreds of megabytes of it. Does nothing where
// that is not known to be the case.
void release_memory();

}  // namespace bitfm
