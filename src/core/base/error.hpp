// Errors the core raises; the binding turns them into Python's.
#pragma once

#include <stdexcept>
#include <string>

namespace bitfm {

// What the caller passed cannot be used: ValueError in Python.
struct BadInput : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

// The caller asked to stop (Ctrl-C); the exception to raise is already set on the Python side.
struct Interrupted : std::exception {
    const char* what() const noexcept override { return "interrupted"; }
};

inline void require(bool condition, const std::string& message) {
    if (!condition) throw BadInput(message);
}

}  // namespace bitfm
