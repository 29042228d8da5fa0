// Routines on the rows and columns of values in UB, told where these begin.
#pragma once

#include "hpmoe/vector.h"

namespace hpmoe {

constexpr uint32_t MOST_STRIDE = 255; // blocks from one repeat to the next

// Rows that one call in mask form can take, a repeat each: where the next lies too far away, one.
HPMOE_INLINE uint32_t RowsOfCall(uint32_t pitch) {
    return pitch / (LANES / LANE_BLOCKS) <= MOST_STRIDE ? MOST_REPEATS : 1;
}

// Blocks from row to row; of a single row any number will do.
HPMOE_INLINE uint8_t RowStride(uint32_t pitch) {
    return static_cast<uint8_t>(Min(pitch / (LANES / LANE_BLOCKS), MOST_STRIDE));
}

// A tile of bytes as a value. `halves` has room for the same number of 16-bit elements.
HPMOE_ROUTINE void WidenBytes(uint32_t out_at, uint32_t bytes_at, uint32_t halves_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<int8_t> bytes = UbFrom<int8_t>(bytes_at);
    const LocalTensor<half> middle = UbFrom<half>(halves_at);
    const uint32_t from = TilePitch<int8_t>(cols);
    const uint32_t pitch = UbPitch(cols);
    if (from == pitch) {
        Cast(middle, bytes, RoundMode::CAST_NONE, rows * pitch);
    } else {
        for (uint32_t row = 0; row < rows; ++row) {
            Cast(middle[row * pitch], bytes[row * from], RoundMode::CAST_NONE, pitch);
        }
    }
    PipeBarrier<PIPE_V>();
    Cast(out, middle, RoundMode::CAST_NONE, rows * pitch);
}

// out[r][c] = values[r][c] · numbers[r].
HPMOE_ROUTINE void ScaleRows(uint32_t out_at, uint32_t values_at, uint32_t numbers_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<float> numbers = UbFrom<float>(numbers_at);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t numbers_pitch = UbPitch(1);
    // As in WeightedSum.
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
    for (uint32_t row = 0; row < rows; ++row) {
        Muls(out[row * pitch], values[row * pitch], numbers.GetValue(row * numbers_pitch), static_cast<int32_t>(pitch));
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

// out[r] = Σ values[r][c]: lane l of 64 begins at 0 and adds columns l, l + 64, …; then lanes are added, neighbours
// first. `lanes` has 64 columns.
HPMOE_ROUTINE void RowSum(uint32_t out_at, uint32_t values_at, uint32_t lanes_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<float> lanes = UbFrom<float>(lanes_at);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t step = RowsOfCall(pitch);
    const BinaryRepeatParams strides(1, 1, 1, LANE_BLOCKS, LANE_BLOCKS, RowStride(pitch));
    Duplicate(lanes, 0.0f, static_cast<int32_t>(rows * LANES));
    for (uint32_t col = 0; col < cols; col += LANES) {
        PipeBarrier<PIPE_V>();
        for (uint32_t first = 0; first < rows; first += step) {
            Add(lanes[first * LANES], lanes[first * LANES], values[first * pitch + col],
                static_cast<uint64_t>(Min(LANES, cols - col)), static_cast<uint8_t>(Min(step, rows - first)), strides);
        }
    }
    PipeBarrier<PIPE_V>();
    for (uint32_t first = 0; first < rows; first += MOST_REPEATS) {
        WholeReduceSum(out[first * UbPitch(1)], lanes[first * LANES], static_cast<int32_t>(LANES),
                       static_cast<int32_t>(Min(MOST_REPEATS, rows - first)), static_cast<int32_t>(UbPitch(1)), 1,
                       LANE_BLOCKS);
    }
}

// Every second column, from the first on by pattern 1, from the second on by pattern 2.
HPMOE_INLINE void HalfOfColumns(uint32_t out_at, uint32_t values_at, uint8_t pattern, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const uint32_t from = UbPitch(cols);
    const uint32_t to = UbPitch(cols / 2);
    uint64_t kept = 0;
    if (from == 2 * to) { // what is kept of a row ends where the next row begins
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
