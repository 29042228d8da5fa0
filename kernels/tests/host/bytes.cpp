// Bytes in UB: widened, unpacked or looked up in a table, and narrowed again; in rows that fill whole blocks and in rows that don't.
#include "cores.h"

#include <cmath>

using namespace AscendC;

namespace {

constexpr uint32_t kMostRows = 9, kMostCols = 100;
// Areas of UB: bytes, values, the table, and scratch.
constexpr uint32_t kBytes = 0, kValues = 0x2000, kTable = 0xc000, kTurned = 0xd000, kHalves = 0x10000, kWords = 0x18000;
constexpr uint32_t kArea = kTable - kValues;

uint32_t up(uint32_t count, uint32_t to) { return (count + to - 1) / to * to; }

/// The number of a code in the table.
float meaning(uint32_t code) { return static_cast<float>((code * 37 + 11) % 257) / 4.0f - 30.0f; }

int8_t byteAt(uint32_t i) { return static_cast<int8_t>((i * 151 + 77) % 256); }

/// Loads rows of bytes and the table to UB, runs a routine, and returns the area of values.
std::vector<float> valuesOf(uint32_t rows, uint32_t cols, uint32_t codes, const std::function<void()> &routine) {
    Buffer<int8_t> bytes(rows * cols);
    Buffer<float> table(codes), out(kArea / 4);
    for (uint32_t i = 0; i < rows * cols; ++i) bytes[i] = byteAt(i);
    for (uint32_t i = 0; i < codes; ++i) table[i] = meaning(i);
    Setup setup;
    setup.aic = 0, setup.aiv = 1, setup.seed = rows * 100 + cols;
    setup.regions = {bytes.region("bytes", false), table.region("table", false), out.region("out")};
    HpmoeHostResult result = launch(setup, [&] {
        VectorCore core;
        Duplicate(hpmoe::Ub<float>(kValues, kArea), 7777.0f, static_cast<int32_t>(kArea / 4));
        const hpmoe::View<int8_t> from = {address(bytes.data), rows, cols, cols};
        hpmoe::LoadRows(hpmoe::Ub<int8_t>(kBytes, kValues), from, 0, rows);
        DataCopy(hpmoe::Ub<float>(kTable, codes * 4), global(table.data), codes);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        PipeBarrier<PIPE_V>();
        routine();
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopy(global(out.data), hpmoe::Ub<float>(kValues, kArea), kArea / 4);
        PipeBarrier<PIPE_ALL>();
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    return std::vector<float>(out.data, out.data + kArea / 4);
}

/// Checks the rows of `cols` values, and that nothing after them has changed.
void compare(const std::vector<float> &found, uint32_t rows, uint32_t cols, const char *what,
             const std::function<float(uint32_t row, uint32_t col)> &expected) {
    const uint32_t pitch = up(cols, 16);
    bool right = true;
    for (uint32_t i = 0; i < rows * cols; ++i)
        right &= found[i / cols * pitch + i % cols] == expected(i / cols, i % cols);
    for (size_t i = rows * pitch; i < found.size(); ++i) right &= found[i] == 7777.0f;
    EXPECT(right, what + (" of " + std::to_string(rows)) + "x" + std::to_string(cols));
}

/// One of the two numbers in a byte: the first is the low half. Both are in two's complement.
int32_t nibble(uint32_t i, uint32_t half) {
    const int32_t bits = static_cast<uint8_t>(byteAt(i)) >> (4 * half) & 15;
    return bits < 8 ? bits : bits - 16;
}

template <typename F> void forSizes(F run) {
    for (uint32_t cols : {1u, 8u, 15u, 16u, 17u, 31u, 32u, 33u, 40u, 64u, kMostCols})
        for (uint32_t rows : {1u, 2u, kMostRows}) run(rows, cols);
}

CASE(bytes_become_values) {
    forSizes([](uint32_t rows, uint32_t cols) {
        auto found = valuesOf(rows, cols, 256, [=] { hpmoe::WidenBytes(kValues, kBytes, kHalves, rows, cols); });
        compare(found, rows, cols, "WidenBytes", [=](uint32_t row, uint32_t col) { return byteAt(row * cols + col); });
        found = valuesOf(rows, cols, 256,
                         [=] { hpmoe::LookUpBytes(kValues, kBytes, kTable, kTurned, kHalves, kWords, rows, cols); });
        compare(found, rows, cols, "LookUpBytes",
                [=](uint32_t row, uint32_t col) { return meaning(static_cast<uint8_t>(byteAt(row * cols + col))); });
    });
}

CASE(halves_of_bytes_become_values) {
    forSizes([](uint32_t rows, uint32_t cols) {
        auto found = valuesOf(rows, cols, 16, [=] { hpmoe::UnpackNibbles(kValues, kBytes, kHalves, rows, cols); });
        compare(found, rows, 2 * cols, "UnpackNibbles",
                [=](uint32_t row, uint32_t col) { return static_cast<float>(nibble(row * cols + col / 2, col % 2)); });
        found = valuesOf(rows, cols, 16,
                         [=] { hpmoe::LookUpNibbles(kValues, kBytes, kTable, kTurned, kHalves, kWords, rows, cols); });
        compare(found, rows, 2 * cols, "LookUpNibbles", [=](uint32_t row, uint32_t col) {
            return meaning(static_cast<uint32_t>(nibble(row * cols + col / 2, col % 2)) & 15);
        });
    });
}

/// Values are rounded to nearest, ties to even, and saturate.
CASE(values_become_bytes) {
    forSizes([](uint32_t rows, uint32_t cols) {
        Buffer<float> values(rows * cols);
        Buffer<int8_t> out((rows + 1) * cols, 55);
        for (uint32_t i = 0; i < rows * cols; ++i) values[i] = static_cast<float>(i * 173 % 1201) / 4.0f - 150.0f;
        Setup setup;
        setup.aic = 0, setup.aiv = 1, setup.seed = rows * 100 + cols;
        setup.regions = {values.region("values", false), out.region("out")};
        HpmoeHostResult result = launch(setup, [&] {
            VectorCore core;
            const hpmoe::View<float> from = {address(values.data), rows, cols, cols};
            hpmoe::LoadRows(hpmoe::Ub<float>(kValues, kArea), from, 0, rows);
            Duplicate(hpmoe::Ub<int16_t>(kBytes, kValues), int16_t(0x3737), kValues / 2); // two bytes of 55
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            PipeBarrier<PIPE_V>();
            hpmoe::NarrowBytes(kBytes, kValues, kWords, kHalves, rows, cols);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            const hpmoe::View<int8_t> to = {address(out.data), rows + 1, cols, cols};
            hpmoe::StoreRows(to, 0, rows + 1, hpmoe::Ub<int8_t>(kBytes, kValues));
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        bool right = true;
        for (uint32_t i = 0; i < rows * cols; ++i) {
            const float nearest = std::nearbyint(values[i]);
            right &= static_cast<float>(out[i]) == std::fmax(-128.0f, std::fmin(127.0f, nearest));
        }
        for (uint32_t i = rows * cols; i < (rows + 1) * cols; ++i) right &= out[i] == 55;
        EXPECT(right, std::to_string(rows) + "x" + std::to_string(cols));
    });
}

} // namespace
