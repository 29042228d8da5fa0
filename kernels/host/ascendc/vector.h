// Elementwise vector calls: count forms, and mask forms where the subset has them.
#pragma once

#include "ascendc/tensor.h"

namespace AscendC {

namespace host {

inline void setMask(VectorCall &call, const uint64_t mask[]) {
    call.masked = true;
    call.mask[0] = mask[0];
    call.mask[1] = mask[1];
}

/// Selects the first `lanes` lanes of every repeat. If the mask register can't hold that many, a check reports it.
inline void setMask(VectorCall &call, uint64_t lanes) {
    call.masked = true;
    call.count = static_cast<int64_t>(lanes);
    call.mask[0] = lanes >= 64 ? ~uint64_t(0) : (uint64_t(1) << lanes) - 1;
    call.mask[1] = lanes >= 128 ? ~uint64_t(0) : lanes > 64 ? (uint64_t(1) << (lanes - 64)) - 1 : 0;
}

inline void setStrides(VectorCall &call, uint8_t repeat, const BinaryRepeatParams &p) {
    call.repeat = repeat;
    call.dstBlk = p.dstBlkStride, call.aBlk = p.src0BlkStride, call.bBlk = p.src1BlkStride;
    call.dstRep = p.dstRepStride, call.aRep = p.src0RepStride, call.bRep = p.src1RepStride;
}

inline void setStrides(VectorCall &call, uint8_t repeat, const UnaryRepeatParams &p) {
    call.repeat = repeat;
    call.dstBlk = p.dstBlkStride, call.aBlk = p.srcBlkStride;
    call.dstRep = p.dstRepStride, call.aRep = p.srcRepStride;
}

template <typename T> inline VectorCall vectorCall(const char *name, VOp op, const LocalTensor<T> &dst) {
    VectorCall call = {};
    call.name = name;
    call.op = op;
    call.dst = host::place(dst);
    return call;
}

template <typename T, typename Mask>
inline void duplicate(const LocalTensor<T> &dst, const T &value, Mask mask, uint8_t repeat, uint16_t dstBlkStride,
                      uint8_t dstRepStride, Where where) {
    VectorCall call = vectorCall("Duplicate", VOp::Duplicate, dst);
    call.scalar = rawBits(value);
    setMask(call, mask);
    call.repeat = repeat, call.dstBlk = dstBlkStride, call.dstRep = dstRepStride;
    vector(call, where);
}

template <typename T, typename Mask>
inline void copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, Mask mask, uint8_t repeat,
                 const CopyRepeatParams &params, Where where) {
    VectorCall call = vectorCall("Copy", VOp::Copy, dst);
    call.a = host::place(src);
    setMask(call, mask);
    call.repeat = repeat, call.dstBlk = params.dstStride, call.aBlk = params.srcStride;
    call.dstRep = params.dstRepeatSize, call.aRep = params.srcRepeatSize;
    vector(call, where);
}

} // namespace host

#define HPMOE_BINARY(NAME)                                                                                             \
    template <typename T>                                                                                              \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b,                      \
                     const int32_t &count, host::Where where = host::Where::here()) {                                  \
        host::VectorCall call = host::vectorCall(#NAME, host::VOp::NAME, dst);                                         \
        call.a = host::place(a), call.b = host::place(b), call.count = count;                                          \
        host::vector(call, where);                                                                                     \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b, uint64_t mask,       \
                     const uint8_t repeat, const BinaryRepeatParams &params,                                           \
                     host::Where where = host::Where::here()) {                                                        \
        host::VectorCall call = host::vectorCall(#NAME, host::VOp::NAME, dst);                                         \
        call.a = host::place(a), call.b = host::place(b);                                                              \
        host::setMask(call, mask), host::setStrides(call, repeat, params);                                             \
        host::vector(call, where);                                                                                     \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &a, const LocalTensor<T> &b, uint64_t mask[],     \
                     const uint8_t repeat, const BinaryRepeatParams &params,                                           \
                     host::Where where = host::Where::here()) {                                                        \
        host::VectorCall call = host::vectorCall(#NAME, host::VOp::NAME, dst);                                         \
        call.a = host::place(a), call.b = host::place(b);                                                              \
        host::setMask(call, mask), host::setStrides(call, repeat, params);                                             \
        host::vector(call, where);                                                                                     \
    }

HPMOE_BINARY(Add)
HPMOE_BINARY(Sub)
HPMOE_BINARY(Mul)
HPMOE_BINARY(Div)
HPMOE_BINARY(Max)
HPMOE_BINARY(Min)
#undef HPMOE_BINARY

#define HPMOE_SCALAR(NAME)                                                                                             \
    template <typename T>                                                                                              \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalar, const int32_t &count,      \
                     host::Where where = host::Where::here()) {                                                        \
        host::VectorCall call = host::vectorCall(#NAME, host::VOp::NAME, dst);                                         \
        call.a = host::place(src), call.scalar = host::rawBits(scalar), call.count = count;                            \
        host::vector(call, where);                                                                                     \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalar, uint64_t mask,             \
                     const uint8_t repeat, const UnaryRepeatParams &params, host::Where where = host::Where::here()) { \
        host::VectorCall call = host::vectorCall(#NAME, host::VOp::NAME, dst);                                         \
        call.a = host::place(src), call.scalar = host::rawBits(scalar);                                                \
        host::setMask(call, mask), host::setStrides(call, repeat, params);                                             \
        host::vector(call, where);                                                                                     \
    }                                                                                                                  \
    template <typename T>                                                                                              \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalar, uint64_t mask[],           \
                     const uint8_t repeat, const UnaryRepeatParams &params, host::Where where = host::Where::here()) { \
        host::VectorCall call = host::vectorCall(#NAME, host::VOp::NAME, dst);                                         \
        call.a = host::place(src), call.scalar = host::rawBits(scalar);                                                \
        host::setMask(call, mask), host::setStrides(call, repeat, params);                                             \
        host::vector(call, where);                                                                                     \
    }

HPMOE_SCALAR(Adds)
HPMOE_SCALAR(Muls)
HPMOE_SCALAR(Maxs)
HPMOE_SCALAR(Mins)
#undef HPMOE_SCALAR

/// An arithmetic shift for signed numbers.
template <typename T>
inline void ShiftRight(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &bits, const int32_t &count,
                       host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("ShiftRight", host::VOp::ShiftRight, dst);
    call.a = host::place(src), call.scalar = host::rawBits(bits), call.count = count;
    host::vector(call, where);
}

#define HPMOE_UNARY(NAME)                                                                                              \
    template <typename T>                                                                                              \
    inline void NAME(const LocalTensor<T> &dst, const LocalTensor<T> &src, const int32_t &count,                       \
                     host::Where where = host::Where::here()) {                                                        \
        host::VectorCall call = host::vectorCall(#NAME, host::VOp::NAME, dst);                                         \
        call.a = host::place(src), call.count = count;                                                                 \
        host::vector(call, where);                                                                                     \
    }

HPMOE_UNARY(Exp)
HPMOE_UNARY(Ln)
HPMOE_UNARY(Sqrt)
HPMOE_UNARY(Rsqrt)
HPMOE_UNARY(Reciprocal)
HPMOE_UNARY(Abs)
HPMOE_UNARY(Relu)
#undef HPMOE_UNARY

/// dst[i] += src[i] * scalar
template <typename T>
inline void Axpy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const T &scalar, const int32_t &count,
                 host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Axpy", host::VOp::Axpy, dst);
    call.a = host::place(src), call.b = host::place(dst), call.scalar = host::rawBits(scalar), call.count = count;
    host::vector(call, where);
}

template <typename T>
inline void Duplicate(const LocalTensor<T> &dst, const T &value, const int32_t &count,
                      host::Where where = host::Where::here()) {
    host::VectorCall call = host::vectorCall("Duplicate", host::VOp::Duplicate, dst);
    call.scalar = host::rawBits(value), call.count = count;
    host::vector(call, where);
}

template <typename T>
inline void Duplicate(const LocalTensor<T> &dst, const T &value, uint64_t mask, const uint8_t repeat,
                      const uint16_t dstBlkStride, const uint8_t dstRepStride,
                      host::Where where = host::Where::here()) {
    host::duplicate(dst, value, mask, repeat, dstBlkStride, dstRepStride, where);
}

template <typename T>
inline void Duplicate(const LocalTensor<T> &dst, const T &value, uint64_t mask[], const uint8_t repeat,
                      const uint16_t dstBlkStride, const uint8_t dstRepStride,
                      host::Where where = host::Where::here()) {
    host::duplicate(dst, value, mask, repeat, dstBlkStride, dstRepStride, where);
}

/// Copies bits unchanged.
template <typename T>
inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t mask, const uint8_t repeat,
                 const CopyRepeatParams &params, host::Where where = host::Where::here()) {
    host::copy(dst, src, mask, repeat, params, where);
}

template <typename T>
inline void Copy(const LocalTensor<T> &dst, const LocalTensor<T> &src, const uint64_t mask[], const uint8_t repeat,
                 const CopyRepeatParams &params, host::Where where = host::Where::here()) {
    host::copy(dst, src, mask, repeat, params, where);
}

/// Switches all lanes on again.
inline void ResetMask(host::Where where = host::Where::here()) { host::resetMask(where); }

} // namespace AscendC
