// Routines that reduce each row to one number.
//
// Each uses 64 lanes: lane l reduces columns l, l + 64, …. Then the 64 results are reduced to one.
#pragma once

#include "hpmoe/rows.h"

namespace hpmoe {

// out[r] = Σ values[r][c]: lane l of 64 starts at 0 and adds columns l, l + 64, …; then lanes are added pairwise,
// neighbours first. `lanes` has 64 columns.
HPMOE_INLINE void SumRows(uint32_t out_at, uint32_t values_at, uint32_t lanes_at, uint32_t rows, uint32_t cols) {
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
        WholeReduceSum(out[first * NUMBER_PITCH], lanes[first * LANES], static_cast<int32_t>(LANES),
                       static_cast<int32_t>(Min(MOST_REPEATS, rows - first)), static_cast<int32_t>(NUMBER_PITCH), 1,
                       LANE_BLOCKS);
    }
}

HPMOE_ROUTINE void RowSum(uint32_t out_at, uint32_t values_at, uint32_t lanes_at, uint32_t rows, uint32_t cols) {
    SumRows(out_at, values_at, lanes_at, rows, cols);
}

// out[r] = (Σ values[r][c]) / cols.
HPMOE_ROUTINE void RowMean(uint32_t out_at, uint32_t values_at, uint32_t lanes_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> divisors = UbFrom<float>(lanes_at);
    SumRows(out_at, values_at, lanes_at, rows, cols);
    Duplicate(divisors, static_cast<float>(cols), static_cast<int32_t>(rows * NUMBER_PITCH));
    PipeBarrier<PIPE_V>();
    Div(out, out, divisors, static_cast<int32_t>(rows * NUMBER_PITCH));
}

// out[r] = the largest (or smallest) number of row r. A lane keeps its number only if it is strictly larger (or
// smaller) than the next one.
template <bool LARGEST>
HPMOE_INLINE void Extremes(uint32_t out_at, uint32_t values_at, uint32_t lanes_at, uint32_t rows, uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<float> lanes = UbFrom<float>(lanes_at);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t step = RowsOfCall(pitch);
    const BinaryRepeatParams strides(1, 1, 1, LANE_BLOCKS, LANE_BLOCKS, RowStride(pitch));
    // Infinities, as bits.
    Duplicate(UbFrom<uint32_t>(lanes_at), LARGEST ? 0xFF800000u : 0x7F800000u, static_cast<int32_t>(rows * LANES));
    for (uint32_t col = 0; col < cols; col += LANES) {
        PipeBarrier<PIPE_V>();
        const uint64_t mask = static_cast<uint64_t>(Min(LANES, cols - col));
        for (uint32_t first = 0; first < rows; first += step) {
            const uint8_t repeat = static_cast<uint8_t>(Min(step, rows - first));
            const uint32_t at = first * LANES;
            if constexpr (LARGEST) {
                Max(lanes[at], lanes[at], values[first * pitch + col], mask, repeat, strides);
            } else {
                AscendC::Min(lanes[at], lanes[at], values[first * pitch + col], mask, repeat, strides);
            }
        }
    }
    PipeBarrier<PIPE_V>();
    for (uint32_t first = 0; first < rows; first += MOST_REPEATS) {
        const int32_t repeat = static_cast<int32_t>(Min(MOST_REPEATS, rows - first));
        const int32_t stride = static_cast<int32_t>(NUMBER_PITCH);
        if constexpr (LARGEST) {
            WholeReduceMax(out[first * NUMBER_PITCH], lanes[first * LANES], static_cast<int32_t>(LANES), repeat, stride,
                           1, LANE_BLOCKS, ReduceOrder::ORDER_ONLY_VALUE);
        } else {
            WholeReduceMin(out[first * NUMBER_PITCH], lanes[first * LANES], static_cast<int32_t>(LANES), repeat, stride,
                           1, LANE_BLOCKS, ReduceOrder::ORDER_ONLY_VALUE);
        }
    }
}

HPMOE_ROUTINE void RowMax(uint32_t out_at, uint32_t values_at, uint32_t lanes_at, uint32_t rows, uint32_t cols) {
    Extremes<true>(out_at, values_at, lanes_at, rows, cols);
}

HPMOE_ROUTINE void RowMin(uint32_t out_at, uint32_t values_at, uint32_t lanes_at, uint32_t rows, uint32_t cols) {
    Extremes<false>(out_at, values_at, lanes_at, rows, cols);
}

} // namespace hpmoe
