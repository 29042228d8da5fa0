// Rows of tiles between global memory and UB, and routines on values in UB.
//
// In UB a value is f32, row after row, rows ROW_ALIGN elements aligned. What is behind the columns of a row is never
// stored.
#pragma once

#include "hpmoe/memory.h"
#include "hpmoe/vector_core.h"

namespace hpmoe {

// Two stages of a tile's rows in UB, one behind the other: one is filled or drained while the other is computed with.
template <typename T> struct Stages {
    uint32_t offset;
    uint32_t bytes; // of one stage

    __aicore__ inline LocalTensor<T> operator[](uint32_t stage) const { return Ub<T>(offset + stage * bytes, bytes); }
};

__aicore__ inline uint32_t UbPitch(uint32_t cols) { return AlignUp(cols, ROW_ALIGN); }

// Elements that a call in count form runs over for so many rows.
__aicore__ inline int32_t UbCount(uint32_t rows, uint32_t cols) { return static_cast<int32_t>(rows * UbPitch(cols)); }

// Elements from row to row of a tile in UB: as of values, but that rows of bytes start on 32.
template <typename T> __aicore__ inline uint32_t TilePitch(uint32_t cols) {
    constexpr uint32_t BLOCK_ELEMENTS = BLOCK_BYTES / static_cast<uint32_t>(sizeof(T));
    return AlignUp(cols, BLOCK_ELEMENTS > ROW_ALIGN ? BLOCK_ELEMENTS : ROW_ALIGN);
}

// Blocks of 32 bytes between rows of UB: a copy alone would align f32 rows to eight elements.
template <typename T> __aicore__ inline uint32_t UbGap(uint32_t cols) {
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    return TilePitch<T>(cols) * size / BLOCK_BYTES - CeilDiv(cols * size, BLOCK_BYTES);
}

template <typename T>
__aicore__ inline void LoadRows(const LocalTensor<T> &ub, const View<T> &from, uint32_t first, uint32_t rows) {
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    DataCopyPad(ub, from.At(first, 0),
                DataCopyExtParams(static_cast<uint16_t>(rows), from.cols * size, (from.pitch - from.cols) * size,
                                  UbGap<T>(from.cols), 0),
                DataCopyPadExtParams<T>());
}

template <typename T>
__aicore__ inline void StoreRows(const View<T> &to, uint32_t first, uint32_t rows, const LocalTensor<T> &ub) {
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    DataCopyPad(to.At(first, 0), ub,
                DataCopyExtParams(static_cast<uint16_t>(rows), to.cols * size, UbGap<T>(to.cols),
                                  (to.pitch - to.cols) * size, 0));
}

// out[r] = Σ values[r * terms + k] · weights[r][k], in ascending k, every product and every sum rounded.
HPMOE_ROUTINE void WeightedSum(const LocalTensor<float> &out, const LocalTensor<float> &values,
                               const LocalTensor<float> &weights, const LocalTensor<float> &product, uint32_t rows,
                               uint32_t cols, uint32_t terms) {
    const uint32_t pitch = UbPitch(cols);
    const uint32_t weights_pitch = UbPitch(terms);
    const int32_t row_count = static_cast<int32_t>(pitch);
    // The scalar unit reads the weights, once the vector unit has come here: callers need no barrier for what it wrote.
    // A weight has been read when the call that takes it is issued, so nothing need tell that the buffer is free.
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    for (uint32_t k = 0; k < terms; ++k) {
        const LocalTensor<float> &term = k == 0 ? out : product;
        for (uint32_t row = 0; row < rows; ++row) {
            Muls(term[row * pitch], values[(row * terms + k) * pitch], weights.GetValue(row * weights_pitch + k),
                 row_count);
        }
        if (k > 0) {
            PipeBarrier<PIPE_V>();
            Add(out, out, product, static_cast<int32_t>(rows * pitch));
        }
    }
}

// out[r] = Σ values[r * terms + k], in ascending k, every sum rounded.
HPMOE_ROUTINE void FoldRows(const LocalTensor<float> &out, const LocalTensor<float> &values, uint32_t rows,
                            uint32_t cols, uint32_t terms) {
    const uint32_t pitch = UbPitch(cols);
    const int32_t count = static_cast<int32_t>(pitch);
    for (uint32_t k = terms == 1 ? 0 : 1; k < terms; ++k) {
        if (k > 1) {
            PipeBarrier<PIPE_V>();
        }
        for (uint32_t row = 0; row < rows; ++row) {
            const LocalTensor<float> term = values[(row * terms + k) * pitch];
            if (terms == 1) {
                DataCopy(out[row * pitch], term, pitch);
            } else {
                Add(out[row * pitch], k == 1 ? values[row * terms * pitch] : out[row * pitch], term, count);
            }
        }
    }
}

} // namespace hpmoe
