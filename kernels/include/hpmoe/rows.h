// Routines on rows and columns of values in UB, whose addresses are passed.
#pragma once

#include "hpmoe/vector.h"

namespace hpmoe {

constexpr uint32_t MOST_STRIDE = 255; // most blocks from one repeat to the next

// Number of rows that one call in mask form can process, one per repeat: one row if the distance of rows is too large.
HPMOE_INLINE uint32_t RowsOfCall(uint32_t pitch) {
    return pitch / (LANES / LANE_BLOCKS) <= MOST_STRIDE ? MOST_REPEATS : 1;
}

// Number of blocks from one row to the next; unused if there is only one row.
HPMOE_INLINE uint8_t RowStride(uint32_t pitch) {
    return static_cast<uint8_t>(Min(pitch / (LANES / LANE_BLOCKS), MOST_STRIDE));
}

// out[r][c] = row[c].
HPMOE_INLINE void CopyRow(uint32_t out_at, uint32_t row_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> row = UbFrom<float>(row_at);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t step = RowsOfCall(pitch);
    const CopyRepeatParams strides(1, 1, RowStride(pitch), 0);
    for (uint32_t first = 0; first < rows; first += step) {
        for (uint32_t col = 0; col < pitch; col += LANES) {
            Copy(out[first * pitch + col], row[col], static_cast<uint64_t>(Min(LANES, pitch - col)),
                 static_cast<uint8_t>(Min(step, rows - first)), strides);
        }
    }
}

HPMOE_ROUTINE void SpreadRow(uint32_t out_at, uint32_t row_at, uint32_t rows, uint32_t cols) {
    CopyRow(out_at, row_at, rows, cols);
}

// out[r][c] = numbers[r].
HPMOE_ROUTINE void SpreadColumn(uint32_t out_at, uint32_t numbers_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> numbers = UbFrom<float>(numbers_at);
    const uint32_t pitch = UbPitch(cols);
    // See WeightedSum.
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    for (uint32_t row = 0; row < rows; ++row) {
        Duplicate(out[row * pitch], numbers.GetValue(row * NUMBER_PITCH), static_cast<int32_t>(pitch));
    }
}

// out[r][c] = number.
HPMOE_ROUTINE void SpreadNumber(uint32_t out_at, uint32_t number_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> number = UbFrom<float>(number_at);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    Duplicate(out, number.GetValue(0), UbCount(rows, cols));
}

// out[r][c] = c.
HPMOE_ROUTINE void ColumnIds(uint32_t out_at, [[maybe_unused]] uint32_t values_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const uint32_t pitch = UbPitch(cols);
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    for (uint32_t col = 0; col < ROW_ALIGN; ++col) {
        out.SetValue(col, static_cast<float>(col));
    }
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
    for (uint32_t made = ROW_ALIGN; made < pitch; made *= 2) {
        Adds(out[made], out, static_cast<float>(made), static_cast<int32_t>(Min(made, pitch - made)));
        PipeBarrier<PIPE_V>();
    }
    if (rows > 1) {
        CopyRow(out_at + pitch * static_cast<uint32_t>(sizeof(float)), out_at, rows - 1, cols);
    }
}

// out[r][c] = values[r][c] · numbers[r].
HPMOE_ROUTINE void ScaleRows(uint32_t out_at, uint32_t values_at, uint32_t numbers_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<float> numbers = UbFrom<float>(numbers_at);
    const uint32_t pitch = UbPitch(cols);
    // See WeightedSum.
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    for (uint32_t row = 0; row < rows; ++row) {
        Muls(out[row * pitch], values[row * pitch], numbers.GetValue(row * NUMBER_PITCH), static_cast<int32_t>(pitch));
    }
}

// out[r][c] = values[r][c] + row[c].
HPMOE_ROUTINE void AddRow(uint32_t out_at, uint32_t values_at, uint32_t row_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<float> row = UbFrom<float>(row_at);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t step = RowsOfCall(pitch);
    const BinaryRepeatParams strides(1, 1, 1, RowStride(pitch), RowStride(pitch), 0);
    for (uint32_t first = 0; first < rows; first += step) {
        for (uint32_t col = 0; col < pitch; col += LANES) {
            const uint32_t at = first * pitch + col;
            Add(out[at], values[at], row[col], static_cast<uint64_t>(Min(LANES, pitch - col)),
                static_cast<uint8_t>(Min(step, rows - first)), strides);
        }
    }
}

// out[r][c] = values[r][c] · numbers[c].
HPMOE_ROUTINE void ScaleColumns(uint32_t out_at, uint32_t values_at, uint32_t numbers_at, uint32_t rows,
                                uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<float> numbers = UbFrom<float>(numbers_at);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t step = RowsOfCall(pitch);
    const BinaryRepeatParams strides(1, 1, 1, RowStride(pitch), RowStride(pitch), 0);
    for (uint32_t first = 0; first < rows; first += step) {
        for (uint32_t col = 0; col < pitch; col += LANES) {
            const uint32_t at = first * pitch + col;
            Mul(out[at], values[at], numbers[col], static_cast<uint64_t>(Min(LANES, pitch - col)),
                static_cast<uint8_t>(Min(step, rows - first)), strides);
        }
    }
}

// Takes every second column: pattern 1 starts at the first one, pattern 2 at the second.
HPMOE_INLINE void HalfOfColumns(uint32_t out_at, uint32_t values_at, uint8_t pattern, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const uint32_t from = UbPitch(cols);
    const uint32_t to = UbPitch(cols / 2);
    uint64_t kept{};      // number of columns kept, which is known anyway
    if (from == 2 * to) { // the kept columns of a row end where those of the next row begin
        GatherMask(out, values, pattern, true, rows * from, GatherMaskParams(1, 1, LANE_BLOCKS, 0), kept);
        return;
    }
    for (uint32_t row = 0; row < rows; ++row) {
        GatherMask(out[row * to], values[row * from], pattern, true, cols, GatherMaskParams(1, 1, LANE_BLOCKS, 0),
                   kept);
    }
}

HPMOE_ROUTINE void EvenColumns(uint32_t out_at, uint32_t values_at, uint32_t rows, uint32_t cols) {
    HalfOfColumns(out_at, values_at, 1, rows, cols);
}

HPMOE_ROUTINE void OddColumns(uint32_t out_at, uint32_t values_at, uint32_t rows, uint32_t cols) {
    HalfOfColumns(out_at, values_at, 2, rows, cols);
}

} // namespace hpmoe
