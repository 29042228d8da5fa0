// Heavy loops are compiled for several instruction sets, and the best one is chosen at start-up. All versions round
// alike: no contraction to fused multiply-add, no reordering.
#pragma once

#include "sanitizer.h"

#if defined(__x86_64__) && defined(__linux__) && defined(__GLIBC__) && !defined(HPMOE_THREAD_SANITIZER)
#define HPMOE_X86
#define HPMOE_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HPMOE_CLONES
#endif

/// Inlined into the calling function, and compiled for the same instruction set.
#define HPMOE_IN_CLONES inline __attribute__((always_inline))
