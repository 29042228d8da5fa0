// Tiles of bytes: as values, by way of half, which holds every number of a byte; and codes that a table gives a meaning.
#pragma once

#include "hpmoe/rows.h"

namespace hpmoe {

constexpr uint32_t NIBBLES = 2;       // numbers of four bits in a byte
constexpr uint32_t NIBBLE_CODES = 16; // numbers that four bits hold
constexpr uint32_t BYTE_CODES = 256;  // and a byte

// Rows of bytes as rows of half, `cols` numbers each: a byte is one, or two of four bits, the first in its lower half.
template <typename T>
HPMOE_INLINE void WidenToHalf(uint32_t halves_at, uint32_t bytes_at, uint32_t from, uint32_t rows, uint32_t cols,
                              uint32_t numbers_of_byte) {
    const LocalTensor<half> halves = UbFrom<half>(halves_at);
    const uint32_t pitch = UbPitch(cols);
    if (from * numbers_of_byte == pitch) {
        Cast(halves, UbFrom<T>(bytes_at), RoundMode::CAST_NONE, rows * pitch);
        return;
    }
    for (uint32_t row = 0; row < rows; ++row) {
        Cast(halves[row * pitch], UbFrom<T>(bytes_at + row * from), RoundMode::CAST_NONE, pitch);
    }
}

// A tile of bytes as a value. `halves` has room for the same number of 16-bit elements.
HPMOE_ROUTINE void WidenBytes(uint32_t out_at, uint32_t bytes_at, uint32_t halves_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int8_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols, 1);
    PipeBarrier<PIPE_V>();
    Cast(UbFrom<float>(out_at), UbFrom<half>(halves_at), RoundMode::CAST_NONE, rows * UbPitch(cols));
}

// A tile of `cols` bytes in a row, each of two numbers of four bits, as a value of twice as many columns.
HPMOE_ROUTINE void UnpackNibbles(uint32_t out_at, uint32_t bytes_at, uint32_t halves_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int4b_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols * NIBBLES, NIBBLES);
    PipeBarrier<PIPE_V>();
    Cast(UbFrom<float>(out_at), UbFrom<half>(halves_at), RoundMode::CAST_NONE, rows * UbPitch(cols * NIBBLES));
}

// out[i] = table[code of i], codes in two's complement: of `codes` numbers the second half is that of the codes below 0. `turned` has
// room for the table, in the order of ascending codes. Its offsets are whole numbers below 1024, which half holds.
HPMOE_INLINE void LookUp(uint32_t out_at, uint32_t table_at, uint32_t turned_at, uint32_t halves_at,
                         uint32_t offsets_at, uint32_t codes, uint32_t count) {
    constexpr uint32_t SIZE = static_cast<uint32_t>(sizeof(float));
    const LocalTensor<half> halves = UbFrom<half>(halves_at);
    const uint32_t middle = codes / 2 * SIZE;
    CopyValues(turned_at, table_at + middle, static_cast<int32_t>(codes / 2));
    CopyValues(turned_at + middle, table_at, static_cast<int32_t>(codes / 2));
    PipeBarrier<PIPE_V>();
    Adds(halves, halves, half(static_cast<float>(codes / 2)), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    Muls(halves, halves, half(static_cast<float>(SIZE)), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    Cast(UbFrom<int32_t>(offsets_at), halves, RoundMode::CAST_RINT, count);
    PipeBarrier<PIPE_V>();
    Gather(UbFrom<float>(out_at), UbFrom<float>(turned_at), UbFrom<uint32_t>(offsets_at), 0u, count);
}

// A tile of bytes, each the code of a number in a table of 256.
HPMOE_ROUTINE void LookUpBytes(uint32_t out_at, uint32_t bytes_at, uint32_t table_at, uint32_t turned_at,
                               uint32_t halves_at, uint32_t offsets_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int8_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols, 1);
    LookUp(out_at, table_at, turned_at, halves_at, offsets_at, BYTE_CODES, rows * UbPitch(cols));
}

// A tile of bytes, each of two codes of four bits, of a table of 16.
HPMOE_ROUTINE void LookUpNibbles(uint32_t out_at, uint32_t bytes_at, uint32_t table_at, uint32_t turned_at,
                                 uint32_t halves_at, uint32_t offsets_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int4b_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols * NIBBLES, NIBBLES);
    LookUp(out_at, table_at, turned_at, halves_at, offsets_at, NIBBLE_CODES, rows * UbPitch(cols * NIBBLES));
}

// A value as a tile of bytes, to nearest, ties to even: first to whole numbers, of which half holds all that a byte does, and turns
// larger ones into such as become the largest byte. `words` has room for the value, `halves` for as many 16-bit elements.
HPMOE_ROUTINE void NarrowBytes(uint32_t bytes_at, uint32_t value_at, uint32_t words_at, uint32_t halves_at,
                               uint32_t rows, uint32_t cols) {
    const LocalTensor<int8_t> bytes = UbFrom<int8_t>(bytes_at);
    const LocalTensor<float> words = UbFrom<float>(words_at);
    const LocalTensor<half> middle = UbFrom<half>(halves_at);
    const uint32_t to = TilePitch<int8_t>(cols);
    const uint32_t pitch = UbPitch(cols);
    Cast(words, UbFrom<float>(value_at), RoundMode::CAST_RINT, rows * pitch);
    PipeBarrier<PIPE_V>();
    Cast(middle, words, RoundMode::CAST_RINT, rows * pitch);
    PipeBarrier<PIPE_V>();
    if (to == pitch) {
        Cast(bytes, middle, RoundMode::CAST_RINT, rows * pitch);
        return;
    }
    for (uint32_t row = 0; row < rows; ++row) {
        Cast(bytes[row * to], middle[row * pitch], RoundMode::CAST_RINT, pitch);
    }
}

} // namespace hpmoe
