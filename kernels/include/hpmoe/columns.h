// Routines that rearrange the columns and rows of values. Numbers keep all their bits.
//
// A copy needs source and destination aligned to 32-byte blocks. If columns are not, a gather takes each number by its
// offset; the offsets are the same in every row.
#pragma once

#include "hpmoe/rows.h"

namespace hpmoe {

constexpr uint32_t BLOCK_NUMBERS = LANES / LANE_BLOCKS; // f32 numbers in 32 bytes
constexpr uint32_t MOST_SPREAD = 254;                   // most repeats of a Brcb

// Copies `cols` columns of each row. Source and destination are aligned to blocks.
HPMOE_INLINE void CopyColumns(uint32_t out_at, uint32_t out_pitch, uint32_t from_at, uint32_t from_pitch, uint32_t rows,
                              uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> from = UbFrom<float>(from_at);
    const uint32_t step = Min(RowsOfCall(out_pitch), RowsOfCall(from_pitch));
    const CopyRepeatParams strides(1, 1, RowStride(out_pitch), RowStride(from_pitch));
    for (uint32_t first = 0; first < rows; first += step) {
        for (uint32_t col = 0; col < cols; col += LANES) {
            Copy(out[first * out_pitch + col], from[first * from_pitch + col],
                 static_cast<uint64_t>(Min(LANES, cols - col)), static_cast<uint8_t>(Min(step, rows - first)), strides);
        }
    }
}

// The scalar unit writes byte offsets: offsets[i] = i / width * outer + i % width * inner, in units of one number.
HPMOE_INLINE void WriteOffsets(uint32_t offsets_at, uint32_t count, uint32_t width, uint32_t outer, uint32_t inner) {
    const LocalTensor<uint32_t> offsets = UbFrom<uint32_t>(offsets_at);
    for (uint32_t i = 0; i < count; ++i) {
        offsets.SetValue(i, (i / width * outer + i % width * inner) * static_cast<uint32_t>(sizeof(float)));
    }
}

// The scalar unit writes the byte offsets of consecutive numbers: offsets[at + i] = start + i.
HPMOE_INLINE void WriteRun(uint32_t offsets_at, uint32_t at, uint32_t count, uint32_t start) {
    const LocalTensor<uint32_t> offsets = UbFrom<uint32_t>(offsets_at);
    for (uint32_t i = 0; i < count; ++i) {
        offsets.SetValue(at + i, (start + i) * static_cast<uint32_t>(sizeof(float)));
    }
}

// Waits until the vector unit has finished, so that the scalar unit may write offsets.
HPMOE_INLINE void BeginOffsets() {
    SetFlag<HardEvent::V_S>(0);
    WaitFlag<HardEvent::V_S>(0);
}

HPMOE_INLINE void EndOffsets() {
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
}

// Gathers rows of `cols` numbers: each number is taken from its own row, at the given offset.
HPMOE_INLINE void GatherRows(uint32_t out_at, uint32_t from_at, uint32_t from_pitch, uint32_t offsets_at, uint32_t rows,
                             uint32_t cols) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> from = UbFrom<float>(from_at);
    const LocalTensor<uint32_t> offsets = UbFrom<uint32_t>(offsets_at);
    const uint32_t pitch = UbPitch(cols);
    for (uint32_t row = 0; row < rows; ++row) {
        Gather(out[row * pitch], from[row * from_pitch], offsets, 0u, cols);
    }
}

// out[r][c] = values[r][first + c].
HPMOE_ROUTINE void TakeColumns(uint32_t out_at, uint32_t values_at, uint32_t offsets_at, uint32_t rows, uint32_t cols,
                               uint32_t out_cols, uint32_t first) {
    HPMOE_EXPECTS(offsets_at % BLOCK_BYTES == 0);
    const uint32_t pitch = UbPitch(cols);
    BeginOffsets();
    if (first % BLOCK_NUMBERS == 0) {
        CopyColumns(out_at, UbPitch(out_cols), values_at + first * static_cast<uint32_t>(sizeof(float)), pitch, rows,
                    out_cols);
        return;
    }
    WriteRun(offsets_at, 0, out_cols, first);
    EndOffsets();
    GatherRows(out_at, values_at, pitch, offsets_at, rows, out_cols);
}

// Copies the rows of both values side by side into rows of `both`. Each of the two parts is padded like a row. Returns
// the number of columns of a row of `both`.
HPMOE_INLINE uint32_t CopyBoth(uint32_t both_at, uint32_t left_at, uint32_t right_at, uint32_t rows, uint32_t left_cols,
                               uint32_t right_cols) {
    const uint32_t left = UbPitch(left_cols);
    const uint32_t right = UbPitch(right_cols);
    CopyColumns(both_at, left + right, left_at, left, rows, left_cols);
    CopyColumns(both_at + left * static_cast<uint32_t>(sizeof(float)), left + right, right_at, right, rows, right_cols);
    return left + right;
}

// out[r] = left[r] followed by right[r].
HPMOE_ROUTINE void Concat(uint32_t out_at, uint32_t left_at, uint32_t right_at, uint32_t both_at, uint32_t offsets_at,
                          uint32_t rows, uint32_t cols, uint32_t out_cols) {
    HPMOE_EXPECTS(both_at % BLOCK_BYTES == 0 && offsets_at % BLOCK_BYTES == 0);
    const uint32_t others = out_cols - cols;
    BeginOffsets();
    if (cols % BLOCK_NUMBERS == 0) {
        const uint32_t pitch = UbPitch(out_cols);
        CopyColumns(out_at, pitch, left_at, UbPitch(cols), rows, cols);
        CopyColumns(out_at + cols * static_cast<uint32_t>(sizeof(float)), pitch, right_at, UbPitch(others), rows,
                    others);
        return;
    }
    WriteRun(offsets_at, 0, cols, 0);
    WriteRun(offsets_at, cols, others, UbPitch(cols));
    EndOffsets();
    const uint32_t pitch = CopyBoth(both_at, left_at, right_at, rows, cols, others);
    PipeBarrier<PIPE_V>();
    GatherRows(out_at, both_at, pitch, offsets_at, rows, out_cols);
}

// out[r] = even[r][0], odd[r][0], even[r][1], …
HPMOE_ROUTINE void Interleave(uint32_t out_at, uint32_t even_at, uint32_t odd_at, uint32_t both_at, uint32_t offsets_at,
                              uint32_t rows, uint32_t cols, uint32_t out_cols) {
    BeginOffsets();
    WriteOffsets(offsets_at, out_cols, 2, 1, UbPitch(cols));
    EndOffsets();
    const uint32_t pitch = CopyBoth(both_at, even_at, odd_at, rows, cols, cols);
    PipeBarrier<PIPE_V>();
    GatherRows(out_at, both_at, pitch, offsets_at, rows, out_cols);
}

// Repeats each of `numbers` numbers `times` times. `blocks` holds them with a block per number; `times` is a multiple
// of the numbers in a block.
HPMOE_INLINE void CopyBlocks(uint32_t out_at, uint32_t blocks_at, uint32_t numbers, uint32_t times) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> blocks = UbFrom<float>(blocks_at);
    const CopyRepeatParams strides(1, 0, static_cast<uint16_t>(times / BLOCK_NUMBERS), 1);
    for (uint32_t first = 0; first < numbers; first += MOST_REPEATS) {
        for (uint32_t col = 0; col < times; col += LANES) {
            Copy(out[first * times + col], blocks[first * BLOCK_NUMBERS],
                 static_cast<uint64_t>(Min(LANES, times - col)),
                 static_cast<uint8_t>(Min(MOST_REPEATS, numbers - first)), strides);
        }
    }
}

// out[r][c] = values[r][c / times], where `times` is out_cols / cols. `blocks` has room for one block per number of the
// values, including padding.
HPMOE_ROUTINE void RepeatColumns(uint32_t out_at, uint32_t values_at, uint32_t blocks_at, uint32_t offsets_at,
                                 uint32_t rows, uint32_t cols, uint32_t out_cols) {
    HPMOE_EXPECTS(blocks_at % BLOCK_BYTES == 0 && offsets_at % BLOCK_BYTES == 0);
    const uint32_t times = out_cols / cols;
    const uint32_t from = UbPitch(cols);
    const uint32_t to = UbPitch(out_cols);
    BeginOffsets();
    if (times % BLOCK_NUMBERS != 0) {
        WriteOffsets(offsets_at, out_cols, times, 1, 0);
        EndOffsets();
        GatherRows(out_at, values_at, from, offsets_at, rows, out_cols);
        return;
    }
    constexpr uint32_t BYTES = static_cast<uint32_t>(sizeof(float));
    const uint32_t repeats = rows * from / BLOCK_NUMBERS;
    for (uint32_t first = 0; first < repeats; first += MOST_SPREAD) {
        const uint32_t at = first * BLOCK_NUMBERS;
        Brcb(UbFrom<float>(blocks_at)[at * BLOCK_NUMBERS], UbFrom<float>(values_at)[at],
             static_cast<uint8_t>(Min(MOST_SPREAD, repeats - first)), BrcbRepeatParams(1, LANE_BLOCKS));
    }
    PipeBarrier<PIPE_V>();
    const bool whole = from == cols && to == out_cols; // the numbers of all rows are contiguous
    const uint32_t numbers = whole ? rows * cols : cols;
    for (uint32_t row = 0; row < rows; row += whole ? rows : 1) {
        CopyBlocks(out_at + row * to * BYTES, blocks_at + row * from * BLOCK_NUMBERS * BYTES, numbers, times);
    }
}

// Rearranges the same numbers, row by row, into rows of `out_cols`: splits each row into several, or joins several into
// one.
HPMOE_ROUTINE void Reshape(uint32_t out_at, uint32_t values_at, uint32_t offsets_at, uint32_t rows, uint32_t cols,
                           uint32_t out_cols) {
    HPMOE_EXPECTS(offsets_at % BLOCK_BYTES == 0);
    const uint32_t pitch = UbPitch(cols);
    const uint32_t out_pitch = UbPitch(out_cols);
    BeginOffsets();
    const uint32_t shorter = Min(cols, out_cols);
    if (cols == out_cols || shorter % ROW_ALIGN == 0) { // no number moves
        CopyValues(out_at, values_at, static_cast<int32_t>(rows * out_pitch));
        return;
    }
    if (out_cols > cols) {
        WriteOffsets(offsets_at, out_cols, cols, pitch, 1);
        EndOffsets();
        GatherRows(out_at, values_at, out_cols / cols * pitch, offsets_at, rows, out_cols);
        return;
    }
    WriteRun(offsets_at, 0, out_cols, 0);
    EndOffsets();
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<uint32_t> offsets = UbFrom<uint32_t>(offsets_at);
    const uint32_t parts = cols / out_cols;
    for (uint32_t row = 0; row < rows; ++row) {
        Gather(out[row * out_pitch], values[row / parts * pitch], offsets,
               row % parts * out_cols * static_cast<uint32_t>(sizeof(float)), out_cols);
    }
}

} // namespace hpmoe
