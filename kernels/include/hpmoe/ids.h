// Routines that find columns of a row, and that read and write numbers at columns named by ids.
//
// Ids are whole numbers in f32. Work areas are whole repeats, so that comparisons need no tail.
#pragma once

#include "hpmoe/columns.h"
#include "hpmoe/compare.h"
#include "hpmoe/reduce.h"

namespace hpmoe {

constexpr uint32_t NO_FLOAT = 0xFF800000u; // -∞
constexpr float NO_ID = 16777216.0f;       // larger than any column

HPMOE_INLINE float FloatOf(uint32_t bits) {
    const union {
        uint32_t bits;
        float number;
    } word = {bits};
    return word.number;
}

// out[i] = kept[i] if a[i] and b[i] compare as MODE says, else `other`. `count` is a multiple of a repeat.
template <CMPMODE MODE>
HPMOE_INLINE void Keep(uint32_t out_at, uint32_t kept_at, uint32_t a_at, uint32_t b_at, float other, uint32_t bits_at,
                       uint32_t count) {
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> kept = UbFrom<float>(kept_at);
    const LocalTensor<float> a = UbFrom<float>(a_at);
    const LocalTensor<float> b = UbFrom<float>(b_at);
    const LocalTensor<uint8_t> bits = UbFrom<uint8_t>(bits_at);
    for (uint32_t first = 0; first < count; first += MOST_COMPARED) {
        const uint32_t part = Min(MOST_COMPARED, count - first);
        PipeBarrier<PIPE_V>();
        Compare(bits, a[first], b[first], MODE, part);
        PipeBarrier<PIPE_V>();
        Select(out[first], bits, kept[first], other, SELMODE::VSEL_TENSOR_SCALAR_MODE, part);
    }
}

// ids[r][k] = the column of the largest number of row r, leaving out columns ids[r][0 .. k); of equal numbers, the
// lowest column. NaN counts as -∞. `work` has room for three areas, each with whole repeats for every row.
HPMOE_ROUTINE void TopK(uint32_t ids_at, uint32_t values_at, uint32_t work_at, uint32_t lanes_at, uint32_t best_at,
                        uint32_t bits_at, uint32_t rows, uint32_t cols, uint32_t most) {
    const uint32_t pitch = AlignUp(cols, LANES);
    const uint32_t count = rows * pitch;
    const uint32_t left_at = work_at;                                                // the remaining numbers
    const uint32_t free_at = left_at + count * static_cast<uint32_t>(sizeof(float)); // their columns
    const uint32_t all_at =
        free_at + count * static_cast<uint32_t>(sizeof(float)); // one number, repeated for all columns
    const LocalTensor<float> ids = UbFrom<float>(ids_at);
    const LocalTensor<float> best = UbFrom<float>(best_at);
    const LocalTensor<float> all = UbFrom<float>(all_at);
    const float least = FloatOf(NO_FLOAT);
    Duplicate(UbFrom<uint32_t>(left_at), NO_FLOAT, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    CopyColumns(left_at, pitch, values_at, UbPitch(cols), rows, cols);
    Keep<CMPMODE::EQ>(left_at, left_at, left_at, left_at, least, bits_at, count);
    ColumnIds(free_at, free_at, rows, pitch);
    for (uint32_t k = 0; k < most; ++k) {
        RowMax(best_at, left_at, lanes_at, rows, pitch);
        SpreadColumn(all_at, best_at, rows, pitch);
        Keep<CMPMODE::EQ>(all_at, free_at, left_at, all_at, NO_ID, bits_at, count);
        RowMin(best_at, all_at, lanes_at, rows, pitch);
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(0);
        for (uint32_t row = 0; row < rows; ++row) {
            const float id = best.GetValue(row * NUMBER_PITCH);
            ids.SetValue(row * UbPitch(most) + k, id);
            Duplicate(all[row * pitch], id, static_cast<int32_t>(pitch));
        }
        Keep<CMPMODE::NE>(left_at, left_at, free_at, all_at, least, bits_at, count);
        Keep<CMPMODE::NE>(free_at, free_at, free_at, all_at, NO_ID, bits_at, count);
    }
    EndOffsets();
}

// Pads ids to whole repeats (`wanted`), and clamps them to the columns that exist (`named`): an id equals its clamped
// id if it names a column. `columns` and the areas after it have room for `count` numbers each.
HPMOE_INLINE void NamedColumns(uint32_t wanted_at, uint32_t named_at, uint32_t columns_at, uint32_t ids_at,
                               uint32_t bits_at, uint32_t used, uint32_t count, uint32_t cols) {
    const LocalTensor<float> wanted = UbFrom<float>(wanted_at);
    const LocalTensor<float> named = UbFrom<float>(named_at);
    const LocalTensor<int32_t> columns = UbFrom<int32_t>(columns_at);
    Duplicate(wanted, 0.0f, static_cast<int32_t>(count));
    Duplicate(named, 0.0f, static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    CopyValues(wanted_at, ids_at, static_cast<int32_t>(used));
    Keep<CMPMODE::GE>(named_at, wanted_at, wanted_at, named_at, 0.0f, bits_at, count);
    PipeBarrier<PIPE_V>();
    Mins(named, named, static_cast<float>(cols - 1), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    Cast(columns, named, RoundMode::CAST_RINT, count);
    PipeBarrier<PIPE_V>();
    Cast(named, columns, RoundMode::CAST_NONE, count);
}

// out[r][k] = values[r][ids[r][k]], or 0 if there is no such column. `work` is like that of TopK.
HPMOE_ROUTINE void Pick(uint32_t out_at, uint32_t values_at, uint32_t ids_at, uint32_t work_at, uint32_t bits_at,
                        uint32_t rows, uint32_t cols, uint32_t picked) {
    const uint32_t pitch = UbPitch(picked);
    const uint32_t used = rows * pitch;
    const uint32_t count = AlignUp(used, LANES);
    const uint32_t named_at = work_at + count * static_cast<uint32_t>(sizeof(float));
    const uint32_t columns_at = named_at + count * static_cast<uint32_t>(sizeof(float));
    const LocalTensor<float> out = UbFrom<float>(out_at);
    const LocalTensor<float> values = UbFrom<float>(values_at);
    const LocalTensor<int32_t> columns = UbFrom<int32_t>(columns_at);
    const LocalTensor<uint32_t> offsets = UbFrom<uint32_t>(columns_at);
    NamedColumns(work_at, named_at, columns_at, ids_at, bits_at, used, count, cols);
    Muls(columns, columns, static_cast<int32_t>(sizeof(float)), static_cast<int32_t>(count));
    PipeBarrier<PIPE_V>();
    for (uint32_t row = 0; row < rows; ++row) {
        Gather(out[row * pitch], values[row * UbPitch(cols)], offsets[row * pitch], 0u, picked);
    }
    const LocalTensor<uint8_t> bits = UbFrom<uint8_t>(bits_at);
    for (uint32_t first = 0; first < used; first += MOST_COMPARED) {
        Compare(bits, UbFrom<float>(work_at)[first], UbFrom<float>(named_at)[first], CMPMODE::EQ,
                Min(MOST_COMPARED, count - first));
        PipeBarrier<PIPE_V>();
        Select(out[first], bits, out[first], 0.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, Min(MOST_COMPARED, used - first));
    }
}

// out[r][ids[r][k]] = values[r][k] for ascending k, if there is such a column; other numbers are 0. `work` is like that
// of TopK.
HPMOE_ROUTINE void PlaceNumbers(uint32_t out_at, uint32_t values_at, uint32_t ids_at, uint32_t work_at,
                                uint32_t bits_at, uint32_t rows, uint32_t cols, uint32_t placed) {
    const uint32_t pitch = UbPitch(cols);
    const uint32_t used = rows * pitch;
    const uint32_t count = AlignUp(used, LANES);
    const uint32_t named_at = work_at + count * static_cast<uint32_t>(sizeof(float));
    const uint32_t columns_at = named_at + count * static_cast<uint32_t>(sizeof(float));
    const LocalTensor<uint32_t> out = UbFrom<uint32_t>(out_at);
    const LocalTensor<uint32_t> values = UbFrom<uint32_t>(values_at);
    const LocalTensor<int32_t> columns = UbFrom<int32_t>(columns_at);
    NamedColumns(work_at, named_at, columns_at, ids_at, bits_at, used, count, placed);
    Keep<CMPMODE::EQ>(named_at, named_at, work_at, named_at, -1.0f, bits_at, count);
    PipeBarrier<PIPE_V>();
    Cast(columns, UbFrom<float>(named_at), RoundMode::CAST_RINT, count);
    Duplicate(out, 0u, UbCount(rows, placed));
    BeginOffsets();
    for (uint32_t row = 0; row < rows; ++row) {
        for (uint32_t k = 0; k < cols; ++k) {
            const int32_t column = columns.GetValue(row * pitch + k);
            if (column >= 0) {
                out.SetValue(row * UbPitch(placed) + static_cast<uint32_t>(column), values.GetValue(row * pitch + k));
            }
        }
    }
    EndOffsets();
}

} // namespace hpmoe
