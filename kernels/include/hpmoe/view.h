// Tensors and rectangles of them in global memory.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// A tensor of the taskflow, on the rank that looks at it.
template <typename T> struct Private {
    uint32_t number;
    uint32_t columns;
    uint32_t pitch; // elements from row to row
};

// A tensor in the symmetric heap: peers may put into it.
template <typename T> struct Symmetric {
    uint32_t number;
    uint32_t columns;
    uint32_t pitch;
};

// A tensor of the caller's that peers may put into.
template <typename T> struct Shared {
    uint32_t number;
    uint32_t columns;
    uint32_t pitch;
};

// Rows of a tensor are dense, or each begins on a line.
template <typename T> HPMOE_INLINE bool IsPitch(uint32_t pitch, uint32_t columns) {
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    return pitch == columns || pitch * size == AlignUp(columns * size, HPMOE_LINE);
}

// Rows and columns of a tensor. The pitch of a row is in elements.
template <typename T> struct View {
    uint64_t address;
    uint32_t rows;
    uint32_t cols;
    uint32_t pitch;

    HPMOE_INLINE uint64_t AddressOf(uint32_t row, uint32_t col) const {
        return address + (static_cast<uint64_t>(row) * pitch + col) * sizeof(T);
    }
    HPMOE_INLINE GlobalTensor<T> At(uint32_t row, uint32_t col) const { return Global<T>(AddressOf(row, col)); }
    // All rows from `first` on.
    HPMOE_INLINE View From(uint32_t first) const { return View{AddressOf(first, 0), rows, cols, pitch}; }
    // At most `most` rows from `first` on.
    HPMOE_INLINE View Rows(uint32_t first, uint32_t most) const {
        HPMOE_EXPECTS(first <= rows);
        return View{AddressOf(first, 0), Min(most, rows - first), cols, pitch};
    }
    // At most `most` columns from `first` on, which is no more than a row has.
    HPMOE_INLINE View Cols(uint32_t first, uint32_t most) const {
        HPMOE_EXPECTS(first <= cols && most <= cols);
        return View{AddressOf(0, first), rows, Min(most, cols - first), pitch};
    }
};

} // namespace hpmoe
