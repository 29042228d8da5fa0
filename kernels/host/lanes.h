// Vectors of the compiler (GCC, Clang), wherever a loop over elements does not become one by itself.
#pragma once

#include <cstdint>

namespace AscendC::host {

/// Sixteen lanes: one strip of L0C is 16 columns wide, and one AVX-512 register holds 16 floats. For AVX-512 alone: g++ takes vectors that
/// are wider than a register apart, element by element.
typedef float Float16 __attribute__((vector_size(64), aligned(64)));

/// Eight lanes, one AVX2 register.
typedef float Float8 __attribute__((vector_size(32), aligned(32)));
typedef int32_t Int8 __attribute__((vector_size(32), aligned(32)));
typedef uint32_t Word8 __attribute__((vector_size(32), aligned(32)));
/// As many halves: one line of a fractal.
typedef uint16_t Half16 __attribute__((vector_size(32), aligned(32)));

/// Half a line.
typedef uint16_t Half8 __attribute__((vector_size(16), aligned(16)));

/// Four lanes: what every machine has.
typedef float Float4 __attribute__((vector_size(16), aligned(16)));
typedef int32_t Int4 __attribute__((vector_size(16), aligned(16)));
typedef uint32_t Word4 __attribute__((vector_size(16), aligned(16)));

/// Lanes of two vectors: those of the second are numbered after those of the first.
#ifdef __clang__
#define HPMOE_SHUFFLE(a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)
#else
#define HPMOE_SHUFFLE(a, b, ...) __builtin_shuffle(a, b, (__typeof__(a){__VA_ARGS__}))
#endif

} // namespace AscendC::host
