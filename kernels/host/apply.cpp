// Applies a write to global memory: bytes are copied, atomic adds are made word by word.
#include <cstring>

#include "core.h"

namespace AscendC::host {

void applyWrite(Atomic atomic, uint8_t *to, const uint8_t *from, uint32_t bytes) {
    if (atomic == Atomic::None) {
        // Other cores may poll words of a write of at most one line, but never words of a longer one.
        if (bytes <= Cache::kLine) storeWords(reinterpret_cast<uint64_t>(to), from, bytes);
        else std::memcpy(to, from, bytes);
        return;
    }
    for (uint32_t i = 0; i < bytes; i += 4) {
        auto *word = reinterpret_cast<uint32_t *>(to + i);
        uint32_t operand;
        std::memcpy(&operand, from + i, 4);
        if (atomic == Atomic::I32) {
            if (operand) __atomic_fetch_add(word, operand, __ATOMIC_SEQ_CST);
            continue;
        }
        uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED), sum;
        do sum = bitsOf(floatOf(old) + floatOf(operand));
        while (!__atomic_compare_exchange_n(word, &old, sum, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    }
}

} // namespace AscendC::host
