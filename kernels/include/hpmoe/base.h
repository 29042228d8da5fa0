// Basics of the device library: arithmetic, memory sizes, typed access to global memory.
//
// The library uses AscendC only, and does not depend on the compiler or on the implementation of AscendC.
#pragma once

#include "kernel_operator.h"

#include "hpmoe/abi.h"

// Inlined into every caller, so that calls nest only a few levels deep and arguments stay in registers: a tensor passed to
// a call would lie on the stack. A build in which calls are cheap may define this macro otherwise.
#ifndef HPMOE_INLINE
#define HPMOE_INLINE __attribute__((always_inline)) __aicore__ inline
#endif

// One copy of the code for all callers, because instruction caches hold only 32 KiB (matrix cores) and 16 KiB (vector
// cores). A routine takes the addresses of tensors, not tensors.
#define HPMOE_ROUTINE __attribute__((noinline)) __aicore__ inline

// A condition that must hold. An implementation of AscendC may define this macro to check it; otherwise it is not
// evaluated.
#ifndef HPMOE_EXPECTS
#define HPMOE_EXPECTS(...)
#endif

// Whether a wait that has ended counts as timed out. An implementation of AscendC may define this macro for tests;
// otherwise none does.
#ifndef HPMOE_GIVES_UP
#define HPMOE_GIVES_UP() false
#endif

namespace hpmoe {

using namespace AscendC;

HPMOE_INLINE uint32_t Min(uint32_t a, uint32_t b) { return a < b ? a : b; }
HPMOE_INLINE uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
HPMOE_INLINE uint32_t AlignUp(uint32_t a, uint32_t b) { return CeilDiv(a, b) * b; }

constexpr uint32_t BLOCK_BYTES = 32;

// Rows of values in UB start on this many elements, so that bf16 and f32 rows have one pitch and a call in count
// form runs over all rows of a piece at once.
constexpr uint32_t ROW_ALIGN = 16;

// If one of these structures starts on a cache line, so does whatever follows it in memory.
static_assert(sizeof(HpmoeDescriptor) % 64 == 0 && sizeof(HpmoeLaunch) % 64 == 0 && sizeof(HpmoeRouting) % 64 == 0 &&
                  sizeof(HpmoeKeptHead) % 64 == 0 && sizeof(HpmoeRecord) % 64 == 0 && sizeof(HpmoeStampHead) % 64 == 0,
              "structures of the ABI are whole lines of the cache");

template <typename T> HPMOE_INLINE GlobalTensor<T> Global(uint64_t address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(address));
    return tensor;
}

// A word that does not change during a launch.
template <typename T> HPMOE_INLINE T Word(uint64_t address, uint64_t index) {
    return Global<T>(address).GetValue(index);
}

// The address of word `first` of a list of 32-bit words; zero if there is no list.
HPMOE_INLINE uint64_t ListFrom(uint64_t list, uint32_t first) {
    return list == 0 ? 0 : list + static_cast<uint64_t>(first) * 4;
}

// A structure that does not change during a launch, read as 64-bit words.
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
