// Vector types of the compiler (GCC, Clang), for loops over elements that it does not vectorize by itself.
#pragma once

#include <cstdint>

namespace AscendC::host {

/// Sixteen lanes: a strip of L0C is 16 columns wide, and an AVX-512 register holds 16 floats. Only AVX-512 code uses
/// them, because g++ splits vectors that are wider than a register into single elements.
typedef float Float16 __attribute__((vector_size(64), aligned(64)));

/// Eight lanes, one AVX2 register.
typedef float Float8 __attribute__((vector_size(32), aligned(32)));
typedef int32_t Int8 __attribute__((vector_size(32), aligned(32)));
typedef uint32_t Word8 __attribute__((vector_size(32), aligned(32)));
/// Sixteen halves: one line of a fractal.
typedef uint16_t Half16 __attribute__((vector_size(32), aligned(32)));

/// Eight halves: half a line.
typedef uint16_t Half8 __attribute__((vector_size(16), aligned(16)));

/// Four lanes, which every machine has.
typedef float Float4 __attribute__((vector_size(16), aligned(16)));
typedef int32_t Int4 __attribute__((vector_size(16), aligned(16)));
typedef uint32_t Word4 __attribute__((vector_size(16), aligned(16)));

/// Shuffles the lanes of two vectors: lanes of the second are numbered after those of the first.
#ifdef __clang__
#define HPMOE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define HPMOE_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a){__VA_ARGS__}))
#endif

} // namespace AscendC::host
