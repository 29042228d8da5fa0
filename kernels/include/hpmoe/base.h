// Basics of the device library: arithmetic, memory sizes, typed access to global memory.
//
// The library uses AscendC only, and does not depend on the compiler or on the implementation of AscendC.
#pragma once

#include "kernel_operator.h"

#include "hpmoe/abi.h"

// Marks a function that is inlined into every caller. Calls then nest only a few levels deep, and arguments stay in
// registers: a tensor passed to a call would lie on the stack. A build in which calls are cheap may define this macro
// otherwise.
#ifndef HPMOE_INLINE
#define HPMOE_INLINE __attribute__((always_inline)) __aicore__ inline
#endif

// Marks a function of which all callers share one copy, because instruction caches hold only 32 KiB (matrix cores) and
// 16 KiB (vector cores). It takes the addresses of tensors, not tensors.
#define HPMOE_ROUTINE __attribute__((noinline)) __aicore__ inline

// A condition that must hold. An implementation of AscendC may define this macro to check it; otherwise it is not
// evaluated, but what it names counts as used.
#ifndef HPMOE_EXPECTS
#define HPMOE_EXPECTS(...) static_cast<void>(sizeof(__VA_ARGS__))
#endif

// Whether a wait that has ended is treated as if it had timed out. An implementation of AscendC may define this macro
// for tests; otherwise it is always false.
#ifndef HPMOE_GIVES_UP
#define HPMOE_GIVES_UP() false
#endif

namespace hpmoe {

using namespace AscendC;

HPMOE_INLINE uint32_t Min(uint32_t a, uint32_t b) { return a < b ? a : b; }
HPMOE_INLINE uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
HPMOE_INLINE uint32_t AlignUp(uint32_t a, uint32_t b) { return CeilDiv(a, b) * b; }

constexpr uint32_t BLOCK_BYTES = 32;

// Rows of values in UB start at multiples of this number of elements. Rows of bf16 and of f32 then have the same pitch
// in elements, and one vector call in count form covers all rows of a piece.
constexpr uint32_t ROW_ALIGN = 16;

// Each of these structures has a size that is a multiple of a cache line, so what follows it in memory starts on one
// too.
static_assert(sizeof(HpmoeDescriptor) % 64 == 0 && sizeof(HpmoeLaunch) % 64 == 0 && sizeof(HpmoeRouting) % 64 == 0 &&
                  sizeof(HpmoeKeptHead) % 64 == 0 && sizeof(HpmoeRecord) % 64 == 0 && sizeof(HpmoeStampHead) % 64 == 0,
              "structures of the ABI are whole lines of the cache");

template <typename T> HPMOE_INLINE GlobalTensor<T> Global(uint64_t address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(address));
    return tensor;
}

// Reads a word that does not change during a launch.
template <typename T> HPMOE_INLINE T Word(uint64_t address, uint64_t index) {
    return Global<T>(address).GetValue(index);
}

// The address of word `first` of a list of 32-bit words; zero if there is no list.
HPMOE_INLINE uint64_t ListFrom(uint64_t list, uint32_t first) {
    return list == 0 ? 0 : list + static_cast<uint64_t>(first) * 4;
}

// Reads a structure that does not change during a launch, as 64-bit words.
template <typename T> HPMOE_INLINE T Load(uint64_t address) {
    static_assert(sizeof(T) % 8 == 0, "structures of the ABI are whole 64-bit words");
    union {
        T value;
        uint64_t words[sizeof(T) / 8];
    } copy;
    const GlobalTensor<uint64_t> words = Global<uint64_t>(address);
    for (uint32_t i = 0; i < sizeof(T) / 8; ++i) {
        copy.words[i] = words.GetValue(i);
    }
    return copy.value;
}

} // namespace hpmoe
