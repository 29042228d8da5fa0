// Routines on values in UB, with more numbers than one comparison takes.
#include "cores.h"

using namespace AscendC;

namespace {

constexpr uint32_t kRows = 300, kCols = 5, kPicked = 3;
constexpr uint32_t kBytes = kRows * hpmoe::ROW_ALIGN * 4; // of a value
constexpr uint32_t kOut = 0, kValues = kBytes, kIds = 2 * kBytes, kWork = 3 * kBytes, kBits = 6 * kBytes;

static_assert(kRows * hpmoe::ROW_ALIGN > hpmoe::MOST_COMPARED, "two parts");

/// The column that slot `k` of a row names: most exist, some lie on either side of those that do. A row names none twice.
int32_t named(uint32_t row, uint32_t k) { return static_cast<int32_t>((row + k) % 8) - 1; }

bool exists(int32_t column) { return column >= 0 && column < static_cast<int32_t>(kCols); }

template <typename T> hpmoe::View<T> viewOf(Buffer<T> &of, uint32_t cols) {
    return {address(of.data), kRows, cols, cols};
}

/// What a routine makes of `cols` values of each row and of its ids.
Buffer<float> made(uint32_t cols, uint32_t outCols, const std::function<void()> &routine) {
    Buffer<float> values(kRows * cols), ids(kRows * kPicked), out(kRows * outCols);
    for (uint32_t i = 0; i < kRows * cols; ++i) values[i] = static_cast<float>(i + 1);
    for (uint32_t i = 0; i < kRows * kPicked; ++i) ids[i] = static_cast<float>(named(i / kPicked, i % kPicked));
    Setup setup;
    setup.aic = 0, setup.aiv = 1;
    setup.regions = {values.region("values", false), ids.region("ids", false), out.region("out")};
    HpmoeHostResult result = launch(setup, [&] {
        VectorCore core;
        hpmoe::LoadRows(hpmoe::Ub<float>(kValues, kBytes), viewOf(values, cols), 0, kRows);
        hpmoe::LoadRows(hpmoe::Ub<float>(kIds, kBytes), viewOf(ids, kPicked), 0, kRows);
        SetFlag<HardEvent::MTE2_V>(0);
        WaitFlag<HardEvent::MTE2_V>(0);
        routine();
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        hpmoe::StoreRows(viewOf(out, outCols), 0, kRows, hpmoe::Ub<float>(kOut, kBytes));
        PipeBarrier<PIPE_ALL>();
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    return out;
}

CASE(columns_of_many_rows_are_picked) {
    Buffer<float> out =
        made(kCols, kPicked, [] { hpmoe::Pick(kOut, kValues, kIds, kWork, kBits, kRows, kCols, kPicked); });
    for (uint32_t i = 0; i < kRows * kPicked; ++i) {
        const int32_t column = named(i / kPicked, i % kPicked);
        const float value = static_cast<float>(i / kPicked * kCols + 1) + static_cast<float>(column);
        EXPECT(out[i] == (exists(column) ? value : 0.0f), std::to_string(i));
    }
}

CASE(numbers_of_many_rows_are_placed) {
    Buffer<float> out =
        made(kPicked, kCols, [] { hpmoe::PlaceNumbers(kOut, kValues, kIds, kWork, kBits, kRows, kPicked, kCols); });
    Buffer<float> expected(kRows * kCols, 0.0f);
    for (uint32_t i = 0; i < kRows * kPicked; ++i) {
        const int32_t column = named(i / kPicked, i % kPicked);
        if (exists(column)) expected[i / kPicked * kCols + static_cast<uint32_t>(column)] = static_cast<float>(i + 1);
    }
    for (uint32_t i = 0; i < kRows * kCols; ++i) EXPECT(out[i] == expected[i], std::to_string(i));
}

} // namespace
