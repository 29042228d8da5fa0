// Cores of the device library without a launch, in the state that they have between tiles. A destructor waits for the flags that its core
// has left set; the host reports a flag that is missing or still set.
#pragma once

#include "hpmoe/kernel.h"

#include "harness.h"

struct MatrixCore : hpmoe::CubeCore {
    MatrixCore() : hpmoe::CubeCore{} {
        AscendC::SetMMLayoutTransform(true);
        TakeBack();
    }
    ~MatrixCore() {
        Lend();
        AscendC::SetMMLayoutTransform(false);
    }
};

struct VectorCore : hpmoe::VectorCore {
    explicit VectorCore(const HpmoeLaunch &of = {}) : hpmoe::VectorCore{} {
        launch = of;
        TakeBack();
        for (int32_t i = 0; i < static_cast<int32_t>(hpmoe::UB_LINES); ++i)
            AscendC::SetFlag<AscendC::HardEvent::MTE3_S>(i);
    }
    ~VectorCore() {
        Lend();
        for (int32_t i = 0; i < static_cast<int32_t>(hpmoe::UB_LINES); ++i)
            AscendC::WaitFlag<AscendC::HardEvent::MTE3_S>(i);
    }
};

template <typename T> uint64_t address(T *at) { return reinterpret_cast<uint64_t>(at); }

/// A rectangle inside a buffer with longer rows. All elements around it are `around`, so that a test sees stray writes.
template <typename T> struct Framed {
    uint32_t rows, cols, pitch, column;
    T around;
    Buffer<T> all;

    Framed(uint32_t rows, uint32_t cols, T around, uint32_t column = 3)
        : rows(rows), cols(cols), pitch(column + cols + 2), column(column), around(around),
          all((rows + 2) * pitch, around) {}
    T &at(uint32_t row, uint32_t col) { return all[(row + 1) * pitch + column + col]; }
    hpmoe::View<T> view() {
        const hpmoe::View<T> whole = {address(all.data), rows + 2, pitch, pitch};
        return whole.Rows(1, rows).Cols(column, cols);
    }
    /// Whether all elements around the rectangle are unchanged.
    bool kept() {
        for (uint32_t row = 0; row < rows + 2; ++row)
            for (uint32_t col = 0; col < pitch; ++col) {
                const bool inside = row >= 1 && row <= rows && col >= column && col < column + cols;
                if (!inside && std::memcmp(&all[row * pitch + col], &around, sizeof(T)) != 0) return false;
            }
        return true;
    }
};
