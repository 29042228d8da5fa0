// The matrix unit: L1 to L0, Mmad, and Fixpipe from L0C to global memory.
#pragma once

#include "ascendc/tensor.h"

namespace AscendC {

/// Order in which the cube produces its results: along N first if `true`, along M first if `false`. It changes only
/// speed, but it is a bit of the core's control register that stays set after a kernel.
inline void SetMMLayoutTransform(bool rowMajor, host::Where where = host::Where::here()) {
    host::setRowMajor(rowMajor, where);
}

/// Whether products of f32 use fewer bits of their operands. A bit of the control register, which neither InitSocState
/// nor the end of a kernel resets.
inline void SetHF32Mode(bool on, host::Where where = host::Where::here()) { host::setRoundsFloats(on, where); }

template <typename T>
inline void LoadData(const LocalTensor<T> &dst, const LocalTensor<T> &src, const LoadData2DParams &params,
                     host::Where where = host::Where::here()) {
    host::loadData(host::place(dst), host::place(src), params, where);
}

template <typename T, typename U, typename S>
inline void Mmad(const LocalTensor<T> &c, const LocalTensor<U> &a, const LocalTensor<S> &b, const MmadParams &params,
                 host::Where where = host::Where::here()) {
    host::mmad(host::place(c), host::place(a), host::place(b), nullptr, params, where);
}

template <typename T, typename U, typename S, typename V>
inline void Mmad(const LocalTensor<T> &c, const LocalTensor<U> &a, const LocalTensor<S> &b, const LocalTensor<V> &bias,
                 const MmadParams &params, host::Where where = host::Where::here()) {
    host::Local place = host::place(bias);
    host::mmad(host::place(c), host::place(a), host::place(b), &place, params, where);
}

template <typename T, typename U, const FixpipeConfig &config = CFG_ROW_MAJOR>
inline void Fixpipe(const GlobalTensor<T> &dst, const LocalTensor<U> &src, const FixpipeParamsV220 &params,
                    host::Where where = host::Where::here()) {
    static_assert(config.format == CO2Layout::ROW_MAJOR, "Fixpipe: CFG_ROW_MAJOR only");
    host::fixpipe(host::place(dst), host::place(src), params, where);
}

} // namespace AscendC
