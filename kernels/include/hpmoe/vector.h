// Routines that copy rows of tiles between global memory and UB, and routines on values in UB.
//
// In UB a value is f32, row by row; each row is aligned to ROW_ALIGN elements. The padding after a row's columns is
// never stored.
#pragma once

#include "hpmoe/memory.h"
#include "hpmoe/vector_core.h"

namespace hpmoe {

constexpr uint32_t LANES = 64;      // f32 numbers in one repeat of a vector call
constexpr uint32_t LANE_BLOCKS = 8; // 32-byte blocks in one repeat
constexpr uint32_t MOST_REPEATS = 255;

// Two consecutive stages of a tile's rows in UB. One is filled or drained while the other takes part in computation.
template <typename T> struct Stages {
    uint32_t offset;
    uint32_t bytes; // bytes of one stage

    HPMOE_INLINE uint32_t At(uint32_t stage) const {
        HPMOE_EXPECTS(bytes % BLOCK_BYTES == 0);
        return offset + stage * bytes;
    }
    HPMOE_INLINE LocalTensor<T> operator[](uint32_t stage) const { return Ub<T>(At(stage), bytes); }
};

// Rows of a tile that are computed at a time, with the stage that they use.
struct Piece {
    uint32_t first;
    uint32_t rows;
    uint32_t stage;
};

// Piece `number` of a tile with `rows` rows that is cut into pieces of `height` rows.
HPMOE_INLINE Piece PieceOf(uint32_t rows, uint32_t height, uint32_t number) {
    const uint32_t first = number * height;
    return Piece{first, Min(height, rows - first), number % 2};
}

HPMOE_INLINE uint32_t UbPitch(uint32_t cols) { return AlignUp(cols, ROW_ALIGN); }

// Number of elements from one row to the next, in a value with one number per row.
constexpr uint32_t NUMBER_PITCH = ROW_ALIGN;

// Number of elements that a call in count form processes for `rows` rows.
HPMOE_INLINE int32_t UbCount(uint32_t rows, uint32_t cols) { return static_cast<int32_t>(rows * UbPitch(cols)); }

// Number of elements from one row to the next of a tile in UB: as in values, except that rows of bytes are aligned to
// 32 elements.
template <typename T> HPMOE_INLINE uint32_t TilePitch(uint32_t cols) {
    constexpr uint32_t BLOCK_ELEMENTS = BLOCK_BYTES / static_cast<uint32_t>(sizeof(T));
    return AlignUp(cols, BLOCK_ELEMENTS > ROW_ALIGN ? BLOCK_ELEMENTS : ROW_ALIGN);
}

// Number of unused 32-byte blocks between rows in UB. Without them, a copy would align f32 rows to eight elements only.
template <typename T> HPMOE_INLINE uint32_t UbGap(uint32_t cols) {
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    return TilePitch<T>(cols) * size / BLOCK_BYTES - CeilDiv(cols * size, BLOCK_BYTES);
}

template <typename T>
HPMOE_INLINE void LoadRows(const LocalTensor<T> &ub, const View<T> &from, uint32_t first, uint32_t rows) {
    HPMOE_EXPECTS(first + rows <= from.rows);
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    DataCopyPad(ub, from.At(first, 0),
                DataCopyExtParams(static_cast<uint16_t>(rows), from.cols * size, (from.pitch - from.cols) * size,
                                  UbGap<T>(from.cols), 0),
                DataCopyPadExtParams<T>());
}

template <typename T>
HPMOE_INLINE void StoreRows(const View<T> &to, uint32_t first, uint32_t rows, const LocalTensor<T> &ub) {
    HPMOE_EXPECTS(first + rows <= to.rows);
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    DataCopyPad(to.At(first, 0), ub,
                DataCopyExtParams(static_cast<uint16_t>(rows), to.cols * size, UbGap<T>(to.cols),
                                  (to.pitch - to.cols) * size, 0));
}

// Whether row `row` belongs to an empty slot. `ids` has one id per row.
HPMOE_INLINE bool EmptySlot(uint64_t ids, uint32_t row) { return Word<int32_t>(ids, row) < 0; }

// Sets rows of empty slots to zero, because nothing was sent to them. Without ids, no slot is empty.
HPMOE_ROUTINE void ClearEmpty(uint32_t out_at, [[maybe_unused]] uint32_t values_at, uint32_t rows, uint32_t cols,
                              uint64_t ids) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const uint32_t pitch = UbPitch(cols);
    for (uint32_t row = 0; ids != 0 && row < rows; ++row) {
        if (EmptySlot(ids, row)) {
            Duplicate(out[row * pitch], 0.0f, static_cast<int32_t>(pitch));
        }
    }
}

// out[r] = Σ values[r * terms + k] · weights[r][k], in ascending k; every product and every sum is rounded. Terms of
// empty slots are skipped; without ids, no slot is empty.
HPMOE_ROUTINE void WeightedSum(uint32_t out_at, uint32_t values_at, uint32_t weights_at, uint32_t product_at,
                               uint32_t rows, uint32_t cols, uint32_t terms, uint64_t ids) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<float> weights = UbFrom<float>(weights_at);
    const LocalTensor<float> product = UbFrom<float>(product_at);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t weights_pitch = UbPitch(terms);
    const int32_t row_count = static_cast<int32_t>(pitch);
    // The scalar unit reads the weights after the vector unit has reached this point, so callers need no barrier. Each
    // weight is read when the call that uses it is issued, so no flag is needed to free the buffer.
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    if (ids != 0) {
        for (uint32_t row = 0; row < rows; ++row) {
            bool none = true;
            for (uint32_t k = 0; k < terms; ++k) {
                if (EmptySlot(ids, row * terms + k)) {
                    continue;
                }
                const LocalTensor<float> term = UbFrom<float>(none ? out_at : product_at);
                Muls(term[row * pitch], values[(row * terms + k) * pitch], weights.GetValue(row * weights_pitch + k),
                     row_count);
                if (!none) {
                    PipeBarrier<PIPE_V>();
                    Add(out[row * pitch], out[row * pitch], product[row * pitch], row_count);
                }
                none = false;
            }
            if (none) {
                Duplicate(out[row * pitch], 0.0f, row_count);
            }
        }
        return;
    }
    for (uint32_t k = 0; k < terms; ++k) {
        const LocalTensor<float> term = UbFrom<float>(k == 0 ? out_at : product_at);
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

// out[i] = values[i], with all bits. Adding or multiplying by a neutral element would not preserve NaN.
HPMOE_ROUTINE void CopyValues(uint32_t out_at, uint32_t values_at, int32_t count) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const CopyRepeatParams strides(1, 1, LANE_BLOCKS, LANE_BLOCKS);
    const uint32_t whole = static_cast<uint32_t>(count) / LANES;
    const uint32_t rest = static_cast<uint32_t>(count) % LANES;
    for (uint32_t first = 0; first < whole; first += MOST_REPEATS) {
        Copy(out[first * LANES], values[first * LANES], static_cast<uint64_t>(LANES),
             static_cast<uint8_t>(Min(MOST_REPEATS, whole - first)), strides);
    }
    if (rest > 0) {
        Copy(out[whole * LANES], values[whole * LANES], static_cast<uint64_t>(rest), 1, strides);
    }
}

// out[r] = Σ values[r * terms + k], in ascending k; every sum is rounded. Terms of empty slots are skipped; without
// ids, no slot is empty.
HPMOE_ROUTINE void FoldRows(uint32_t out_at, uint32_t values_at, uint32_t rows, uint32_t cols, uint32_t terms,
                            uint64_t ids) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const uint32_t pitch = UbPitch(cols);
    const int32_t count = static_cast<int32_t>(pitch);
    if (ids != 0) {
        for (uint32_t row = 0; row < rows; ++row) {
            bool none = true;
            for (uint32_t slot = row * terms; slot < (row + 1) * terms; ++slot) {
                if (EmptySlot(ids, slot)) {
                    continue;
                }
                if (none) {
                    CopyValues(out_at + row * pitch * 4, values_at + slot * pitch * 4, count);
                } else {
                    PipeBarrier<PIPE_V>();
                    Add(out[row * pitch], out[row * pitch], values[slot * pitch], count);
                }
                none = false;
            }
            if (none) {
                Duplicate(out[row * pitch], 0.0f, count);
            }
        }
        return;
    }
    if (terms == 1) {
        CopyValues(out_at, values_at, static_cast<int32_t>(rows * pitch));
        return;
    }
    for (uint32_t k = 1; k < terms; ++k) {
        if (k > 1) {
            PipeBarrier<PIPE_V>();
        }
        const LocalTensor<float> sums = UbFrom<float>(k == 1 ? values_at : out_at);
        const uint32_t sums_pitch = k == 1 ? terms * pitch : pitch;
        for (uint32_t row = 0; row < rows; ++row) {
            Add(out[row * pitch], sums[row * sums_pitch], values[(row * terms + k) * pitch], count);
        }
    }
}

} // namespace hpmoe
