// How many numbers the kernels work on side by side.
#pragma once

namespace bitfm {

constexpr int kLanes = 8;

}  // namespace bitfm
