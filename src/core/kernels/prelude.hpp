// What every file of kernels starts with. Each is compiled once per instruction set, with BITFM_ISA its name.
//
// Everything lives in that instruction set's own namespace and nothing of the standard library is used: an inline
// function that the linker shares between builds could bring wider instructions to a machine that lacks them.
#pragma once

#include "kernels/kernels.hpp"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#ifndef BITFM_ISA
#define BITFM_ISA portable  // for tools that look at one file
#endif

#define BITFM_INLINE inline __attribute__((always_inline))
#define BITFM_INLINE_LAMBDA __attribute__((always_inline))

#if defined(__AVX512F__)
#define BITFM_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define BITFM_VECTOR_BYTES 32
#else
#define BITFM_VECTOR_BYTES 16
#endif
