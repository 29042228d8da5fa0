// Vector calls that change type or shape: Cast, Compare and Select, Gather, GatherMask, Brcb, reductions.
#pragma once

#include <type_traits>

#include "ascendc/vector.h"

namespace AscendC {

template <typename T, typename U>
inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src, const RoundMode &mode, const uint32_t count,
                 host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Cast", host::VOp::Cast, dst);
    call.a = host::place(src), call.mode = static_cast<uint8_t>(mode), call.count = count;
    host::vector(call, where);
}

/// Bit i of dst = a[i] op b[i]. `count * sizeof(T)` is a multiple of 256.
template <typename T>
inline void Compare(const LocalTensor<uint8_t> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b, CMPMODE mode,
                    uint32_t count, host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Compare", host::VOp::Compare, dst);
    call.a = host::place(a), call.b = host::place(b), call.mode = static_cast<uint8_t>(mode), call.count = count;
    host::vector(call, where);
}

/// Bit i of dst = a[i] op scalar. `count * sizeof(T)` is a multiple of 256.
template <typename T>
inline void CompareScalar(const LocalTensor<uint8_t> &dst, const LocalTensor<T> &a, const T scalar, CMPMODE mode,
                          uint32_t count, host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("CompareScalar", host::VOp::CompareScalar, dst);
    call.a = host::place(a), call.scalar = host::rawBits(scalar);
    call.mode = static_cast<uint8_t>(mode), call.count = count;
    host::vector(call, where);
}

/// Takes an element from a if its bit of `mask` is set, else from b. VSEL_TENSOR_TENSOR_MODE only.
template <typename T, typename U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &mask, const LocalTensor<T> &a,
                   const LocalTensor<T> &b, SELMODE mode, uint32_t count, host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Select", host::VOp::Select, dst);
    call.a = host::place(a), call.b = host::place(b), call.c = host::place(mask);
    call.mode = static_cast<uint8_t>(mode), call.count = count;
    host::vector(call, where);
}

/// Takes an element from a if its bit of `mask` is set, else the scalar. VSEL_TENSOR_SCALAR_MODE only.
template <typename T, typename U>
inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &mask, const LocalTensor<T> &a, T scalar,
                   SELMODE mode, uint32_t count, host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Select", host::VOp::SelectScalar, dst);
    call.a = host::place(a), call.c = host::place(mask), call.scalar = host::rawBits(scalar);
    call.mode = static_cast<uint8_t>(mode), call.count = count;
    host::vector(call, where);
}

/// dst[i] = src[(base + offsets[i]) / sizeof(T)]; offsets are in bytes.
template <typename T>
inline void Gather(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<uint32_t> &offsets,
                   const uint32_t base, const uint32_t count, host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Gather", host::VOp::Gather, dst);
    call.a = host::place(src), call.b = host::place(offsets), call.scalar = base, call.count = count;
    host::vector(call, where);
}

/// Packs the elements of a built-in pattern. Patterns 1 and 2 take the even and the odd elements, 3 to 6 the first to
/// the fourth of every four, and 7 all. A repeat has `mask` elements if `counted` is set, else 256 B.
template <typename T>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint8_t pattern, const bool counted,
                       const uint32_t mask, const GatherMaskParams &params, uint64_t &kept,
                       host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("GatherMask", host::VOp::GatherMask, dst);
    call.a = host::place(src), call.mode = pattern, call.repeat = params.repeatTimes;
    call.count = counted ? mask : 256 / static_cast<uint32_t>(sizeof(T));
    call.aBlk = params.src0BlockStride, call.aRep = params.src0RepeatStride;
    kept = host::kept(call);
    host::vector(call, where);
}

/// Packs the elements whose bits are set in `pattern`, bit i for element i. Their number is known only after the call
/// has run: `kept` is the register's old value, and `GetGatherMaskRemainCount` reads the new one later.
template <typename T, typename U>
inline void GatherMask(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LocalTensor<U> &pattern,
                       const bool counted, const uint32_t mask, const GatherMaskParams &params, uint64_t &kept,
                       host::Where where = host::Where::here()) {
    static_assert(sizeof(T) == sizeof(U) && std::is_unsigned_v<U>,
                  "GatherMask: the pattern is uint16_t or uint32_t, as wide as the elements");
    host::VectorCall call = host::vectorCall("GatherMask", host::VOp::GatherBits, dst);
    call.a = host::place(src), call.c = host::place(pattern), call.repeat = params.repeatTimes;
    call.count = counted ? mask : 256 / static_cast<uint32_t>(sizeof(T));
    call.aBlk = params.src0BlockStride, call.aRep = params.src0RepeatStride;
    kept = ~uint64_t(0);
    host::vector(call, where);
}

/// Number of elements that the last GatherMask kept.
inline int64_t GetGatherMaskRemainCount(host::Where where = host::Where::here()) { return host::gathered(where); }

/// Fills each 32-byte block of a repeat with one element: block j of eight with element j.
template <typename T>
inline void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint8_t repeat,
                 const BrcbRepeatParams &params, host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Brcb", host::VOp::Brcb, dst);
    call.a = host::place(src), call.repeat = repeat, call.dstBlk = params.dstBlkStride,
    call.dstRep = params.dstRepStride;
    host::vector(call, where);
}

namespace host {

template <typename T, typename Mask>
inline void reduce(VectorCall call, const LocalTensor<T> &src, Mask mask, int32_t repeat, int32_t dstRepStride,
                   int32_t srcBlkStride, int32_t srcRepStride, Where where) {
    call.a = host::place(src);
    setMask(call, mask);
    call.repeat = static_cast<uint32_t>(repeat), call.dstRep = static_cast<uint16_t>(dstRepStride);
    call.aBlk = static_cast<uint16_t>(srcBlkStride), call.aRep = static_cast<uint16_t>(srcRepStride);
    vector(call, where);
}

} // namespace host

#define HPMOE_REDUCE(MASK, AS)                                                                                         \
    template <typename T>                                                                                              \
    inline void WholeReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, const int32_t repeat,       \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               host::Where where = host::Where::here()) {                                              \
        host::reduce(host::vectorCall("WholeReduceSum", host::VOp::WholeReduceSum, dst), src, AS, repeat,              \
                     dstRepStride, srcBlkStride, srcRepStride, where);                                                 \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    inline void WholeReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, const int32_t repeat,       \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,                                     \
                               host::Where where = host::Where::here()) {                                              \
        host::VectorCall call = host::vectorCall("WholeReduceMax", host::VOp::WholeReduceMax, dst);                    \
        call.mode = static_cast<uint8_t>(order);                                                                       \
        host::reduce(call, src, AS, repeat, dstRepStride, srcBlkStride, srcRepStride, where);                          \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    inline void WholeReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src, MASK, const int32_t repeat,       \
                               const int32_t dstRepStride, const int32_t srcBlkStride, const int32_t srcRepStride,     \
                               ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,                                     \
                               host::Where where = host::Where::here()) {                                              \
        host::VectorCall call = host::vectorCall("WholeReduceMin", host::VOp::WholeReduceMin, dst);                    \
        call.mode = static_cast<uint8_t>(order);                                                                       \
        host::reduce(call, src, AS, repeat, dstRepStride, srcBlkStride, srcRepStride, where);                          \
    }

HPMOE_REDUCE(const int32_t mask, static_cast<uint64_t>(mask))
HPMOE_REDUCE(const uint64_t mask[], mask)
#undef HPMOE_REDUCE

} // namespace AscendC
