// Tensors in global memory, and rectangular parts of them.
#pragma once

#include "hpmoe/base.h"

namespace hpmoe {

// A tensor of the taskflow, on the rank that accesses it.
template <typename T> struct Private {
    uint32_t number;
    uint32_t columns;
    uint32_t pitch; // elements from one row to the next
};

// A tensor in the symmetric heap, which peers may put into.
template <typename T> struct Symmetric {
    uint32_t number;
    uint32_t columns;
    uint32_t pitch;
};

// A caller's tensor that peers may put into.
template <typename T> struct Shared {
    uint32_t number;
    uint32_t columns;
    uint32_t pitch;
};

// Whether a pitch is valid: rows follow each other without gaps, or each row starts on a line.
template <typename T> HPMOE_INLINE bool IsPitch(uint32_t pitch, uint32_t columns) {
    const uint32_t size = static_cast<uint32_t>(sizeof(T));
    return pitch == columns || pitch * size == AlignUp(columns * size, HPMOE_LINE);
}

// Rows and columns of a tensor. The pitch is in elements.
template <typename T> struct View {
    uint64_t address;
    uint32_t rows;
    uint32_t cols;
    uint32_t pitch;

    HPMOE_INLINE uint64_t AddressOf(uint32_t row, uint32_t col) const {
        return address + (static_cast<uint64_t>(row) * pitch + col) * sizeof(T);
    }
    HPMOE_INLINE GlobalTensor<T> At(uint32_t row, uint32_t col) const { return Global<T>(AddressOf(row, col)); }
    // This view without the rows before row `first`.
    HPMOE_INLINE View From(uint32_t first) const { return View{AddressOf(first, 0), rows, cols, pitch}; }
    // At most `most` rows of this view, from row `first` on.
    HPMOE_INLINE View Rows(uint32_t first, uint32_t most) const {
        HPMOE_EXPECTS(first <= rows);
        return View{AddressOf(first, 0), Min(most, rows - first), cols, pitch};
    }
    // At most `most` columns of this view, from column `first` on. `first` is at most the number of columns.
    HPMOE_INLINE View Cols(uint32_t first, uint32_t most) const {
        HPMOE_EXPECTS(first <= cols && most <= cols);
        return View{AddressOf(0, first), rows, Min(most, cols - first), pitch};
    }
};

} // namespace hpmoe
