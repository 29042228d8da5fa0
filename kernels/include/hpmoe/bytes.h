// Tiles of bytes: read as numbers, by way of half, which represents every byte exactly; or read as codes that a table
// translates.
#pragma once

#include "hpmoe/rows.h"

namespace hpmoe {

constexpr uint32_t NIBBLES = 2;       // 4-bit numbers in a byte
constexpr uint32_t NIBBLE_CODES = 16; // values of a 4-bit number
constexpr uint32_t BYTE_CODES = 256;  // values of a byte

// Converts rows of bytes to rows of half with `cols` numbers each. A byte is one number, or two 4-bit numbers with the
// first in its lower half.
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

// Converts a tile of bytes to a value. `halves` has room for one 16-bit element per number.
HPMOE_ROUTINE void WidenBytes(uint32_t out_at, uint32_t bytes_at, uint32_t halves_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int8_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols, 1);
    PipeBarrier<PIPE_V>();
    Cast(UbFrom<float>(out_at), UbFrom<half>(halves_at), RoundMode::CAST_NONE, rows * UbPitch(cols));
}

// Converts a tile of `cols` bytes per row, each with two 4-bit numbers, to a value of twice as many columns.
HPMOE_ROUTINE void UnpackNibbles(uint32_t out_at, uint32_t bytes_at, uint32_t halves_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int4b_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols * NIBBLES, NIBBLES);
    PipeBarrier<PIPE_V>();
    Cast(UbFrom<float>(out_at), UbFrom<half>(halves_at), RoundMode::CAST_NONE, rows * UbPitch(cols * NIBBLES));
}

// out[i] = the table's number for code i. Codes are in two's complement: the second half of the `codes` entries is for
// negative codes. `turned` has room for the table in the order of ascending codes. Offsets in it are whole numbers
// below 1024, which half represents exactly.
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

// Looks up each byte of a tile in a table of 256 numbers.
HPMOE_ROUTINE void LookUpBytes(uint32_t out_at, uint32_t bytes_at, uint32_t table_at, uint32_t turned_at,
                               uint32_t halves_at, uint32_t offsets_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int8_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols, 1);
    LookUp(out_at, table_at, turned_at, halves_at, offsets_at, BYTE_CODES, rows * UbPitch(cols));
}

// Looks up each 4-bit code of a tile, two per byte, in a table of 16 numbers.
HPMOE_ROUTINE void LookUpNibbles(uint32_t out_at, uint32_t bytes_at, uint32_t table_at, uint32_t turned_at,
                                 uint32_t halves_at, uint32_t offsets_at, uint32_t rows, uint32_t cols) {
    WidenToHalf<int4b_t>(halves_at, bytes_at, TilePitch<int8_t>(cols), rows, cols * NIBBLES, NIBBLES);
    LookUp(out_at, table_at, turned_at, halves_at, offsets_at, NIBBLE_CODES, rows * UbPitch(cols * NIBBLES));
}

// Converts a value to a tile of bytes, rounding to nearest, ties to even. Numbers are first rounded to whole numbers,
// then converted by way of half: it represents the whole numbers of a byte exactly, and larger ones saturate to the
// largest byte. `words` has room for the value, `halves` for one 16-bit element per number.
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
