// Copies between global memory, L1 and UB, and the atomic mode of copies to global memory.
#pragma once

#include <type_traits>

#include "ascendc/tensor.h"

namespace AscendC {

template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const uint32_t count,
                     host::Where where = host::Where::here()) {
    host::copyInCount(host::place(dst), host::place(src), count, where);
}

template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyParams &params,
                     host::Where where = host::Where::here()) {
    host::copyIn(host::place(dst), host::place(src), params, where);
}

template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const Nd2NzParams &params,
                     host::Where where = host::Where::here()) {
    host::copyNd2Nz(host::place(dst), host::place(src), params, where);
}

template <typename T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count,
                     host::Where where = host::Where::here()) {
    host::copyOutCount(host::place(dst), host::place(src), count, where);
}

template <typename T>
inline void DataCopy(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params,
                     host::Where where = host::Where::here()) {
    host::copyOut(host::place(dst), host::place(src), params, where);
}

template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint32_t count,
                     host::Where where = host::Where::here()) {
    host::copyLocalCount(host::place(dst), host::place(src), count, where);
}

template <typename T>
inline void DataCopy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyParams &params,
                     host::Where where = host::Where::here()) {
    host::copyLocal(host::place(dst), host::place(src), params, where);
}

template <typename T>
inline void DataCopyPad(const LocalTensor<T> &dst, const GlobalTensor<T> &src, const DataCopyExtParams &params,
                        const DataCopyPadExtParams<T> &pad, host::Where where = host::Where::here()) {
    host::padIn(host::place(dst), host::place(src), params, pad.isPad, pad.leftPadding, pad.rightPadding,
                host::rawBits(pad.paddingValue), where);
}

template <typename T>
inline void DataCopyPad(const GlobalTensor<T> &dst, const LocalTensor<T> &src, const DataCopyExtParams &params,
                        host::Where where = host::Where::here()) {
    host::padOut(host::place(dst), host::place(src), params, where);
}

template <typename T>
inline void InitConstValue(const LocalTensor<T> &dst, const InitConstValueParams<T> &params,
                           host::Where where = host::Where::here()) {
    host::fill(host::place(dst), params.repeatTimes, params.blockNum, params.dstGap, host::rawBits(params.initValue),
               where);
}

template <typename T> inline void SetAtomicAdd(host::Where where = host::Where::here()) {
    static_assert(std::is_same_v<T, int32_t> || std::is_same_v<T, float>, "SetAtomicAdd: int32_t and float only");
    host::setAtomic(true, host::dtOf<T>, where);
}

inline void SetAtomicNone(host::Where where = host::Where::here()) { host::setAtomic(false, host::Dt::I32, where); }

} // namespace AscendC
