// The scalar unit: its data cache, accesses around the cache, and queries of the core.
#pragma once

#include <cstring>

#include "ascendc/tensor.h"

// The control register of a core, through functions of CANN's compiler. A kernel may change only bit 48, which controls
// infinities and NaN in 16-bit floats: 1 keeps them, 0 turns them into the largest number and zero. Neither
// InitSocState nor the end of a kernel resets the register.
inline int64_t get_ctrl() { return static_cast<int64_t>(AscendC::host::control()); }

inline void set_ctrl(uint64_t value, AscendC::host::Where where = AscendC::host::Where::here()) {
    AscendC::host::setControl(value, where);
}

inline uint64_t sbitset0(uint64_t value, int64_t bit) { return value & ~(uint64_t(1) << bit); }

inline uint64_t sbitset1(uint64_t value, int64_t bit) { return value | uint64_t(1) << bit; }

namespace AscendC {

/// Not a documented call, but a name that CANN's headers define: operators that use hpmoe's namespace must qualify it.
constexpr uint32_t AlignUp(uint32_t a, uint32_t b) { return (a + b - 1) / b * b; }

inline void InitSocState(host::Where where = host::Where::here()) { host::initSocState(where); }

template <typename T, CacheLine line, DcciDst dst>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T> &tensor, host::Where where = host::Where::here()) {
    static_assert(dst == DcciDst::CACHELINE_OUT || dst == DcciDst::CACHELINE_ALL,
                  "DataCacheCleanAndInvalid: against global memory only");
    host::cleanAndInvalidate(host::place(tensor).address, line, dst, where);
}

template <typename T, CacheLine line>
inline void DataCacheCleanAndInvalid(const GlobalTensor<T> &tensor, host::Where where = host::Where::here()) {
    host::cleanAndInvalidate(host::place(tensor).address, line, DcciDst::CACHELINE_OUT, where);
}

template <typename T>
inline void DataCachePreload(const GlobalTensor<uint64_t> &tensor, const T byteOffset,
                             host::Where where = host::Where::here()) {
    host::preload(host::place(tensor).address + static_cast<uint64_t>(static_cast<int64_t>(byteOffset)), where);
}

template <MemDsbT what> inline void DataSyncBarrier(host::Where where = host::Where::here()) {
    host::syncMemory(what, where);
}

template <typename T> inline T ReadGmByPassDCache(__gm__ T *address, host::Where where = host::Where::here()) {
    uint64_t bits = host::loadAround(reinterpret_cast<uint64_t>(address), sizeof(T), where);
    T value;
    std::memcpy(static_cast<void *>(&value), &bits, sizeof(T));
    return value;
}

template <typename T>
inline void WriteGmByPassDCache(__gm__ T *address, T value, host::Where where = host::Where::here()) {
    host::storeAround(reinterpret_cast<uint64_t>(address), sizeof(T), host::rawBits(value), where);
}

inline int64_t GetBlockIdx() { return host::blockIdx(); }
inline int64_t GetBlockNum() { return host::blockNum(); }
inline int64_t GetSubBlockIdx() { return host::subBlockIdx(); }
inline int64_t GetSubBlockNum() { return host::subBlockNum(); }
inline int64_t GetTaskRatio() { return host::subBlockNum(); }

/// The system counter, at 50 MHz.
inline int64_t GetSystemCycle(host::Where where = host::Where::here()) { return host::systemCycle(where); }

} // namespace AscendC
