// What all parts of the device library share: arithmetic, memory sizes, typed access to global memory.
//
// The library is written against AscendC alone. It knows nothing of what compiled it.
#pragma once

#include "kernel_operator.h"

#include "hpmoe/abi.h"

// One copy of the code for all callers: instruction caches hold 32 KiB (matrix cores) and 16 KiB (vector cores).
#define HPMOE_ROUTINE __attribute__((noinline)) __aicore__ inline

namespace hpmoe {

using namespace AscendC;

__aicore__ inline uint32_t Min(uint32_t a, uint32_t b) { return a < b ? a : b; }
__aicore__ inline uint32_t CeilDiv(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
__aicore__ inline uint32_t AlignUp(uint32_t a, uint32_t b) { return CeilDiv(a, b) * b; }

constexpr uint32_t BLOCK_BYTES = 32;

// Rows of values in UB start on this many elements, so that bf16 and f32 rows have one pitch and a call in count
// form runs over all rows of a piece at once.
constexpr uint32_t ROW_ALIGN = 16;

template <typename T> __aicore__ inline GlobalTensor<T> Global(uint64_t address) {
    GlobalTensor<T> tensor;
    tensor.SetGlobalBuffer(reinterpret_cast<__gm__ T *>(address));
    return tensor;
}

// A word that is constant during a launch.
template <typename T> __aicore__ inline T Word(uint64_t address, uint64_t index) {
    return Global<T>(address).GetValue(index);
}

// A structure that is constant during a launch, by 64-bit loads.
template <typename T> __aicore__ inline T Load(uint64_t address) {
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
