// Routines on values in UB, with more numbers than one comparison or call takes.
#include "cores.h"

using namespace AscendC;

namespace {

constexpr uint32_t kRows = 300, kCols = 5, kPicked = 3;
constexpr uint32_t kBytes = kRows * hpmoe::ROW_ALIGN * 4; // bytes of a value
constexpr uint32_t kOut = 0, kValues = kBytes, kIds = 2 * kBytes, kWork = 3 * kBytes, kBits = 6 * kBytes;

/// The column that slot `k` of a row names: most exist, some are too low or too high. No row names a column twice.
int32_t named(uint32_t row, uint32_t k) { return static_cast<int32_t>((row + k) % 8) - 1; }

bool exists(int32_t column) { return column >= 0 && column < static_cast<int32_t>(kCols); }

template <typename T> hpmoe::View<T> viewOf(Buffer<T> &of, uint32_t cols) {
    return {address(of.data), kRows, cols, cols};
}

/// Runs a routine on `cols` values and the ids of each row, and returns `outCols` results per row.
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
    EXPECT(kRows * hpmoe::ROW_ALIGN > hpmoe::MOST_COMPARED, "two parts");
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

/// A call of a routine that treats all rows alike, and the size of its result, which fits in `kArea`.
struct Routine {
    const char *name;
    uint32_t cols; // of the result
    uint32_t most; // most rows
    std::function<void(uint32_t rows)> run;
};
constexpr uint32_t kMany = 300; // more rows than one call takes
constexpr uint32_t kArea = 0x5000, out = 0, a = kArea, b = 2 * kArea, one = 3 * kArea, two = 0x2a000;

const Routine kRoutines[] = {
    {"TakeColumns", 5, kMany, [](uint32_t rows) { hpmoe::TakeColumns(out, a, one, rows, 14, 5, 3); }},
    {"TakeColumns of blocks", 5, kMany, [](uint32_t rows) { hpmoe::TakeColumns(out, a, one, rows, 14, 5, 8); }},
    {"Concat", 12, kMany, [](uint32_t rows) { hpmoe::Concat(out, a, b, one, two, rows, 5, 12); }},
    {"Concat of blocks", 12, kMany, [](uint32_t rows) { hpmoe::Concat(out, a, b, one, two, rows, 8, 12); }},
    {"Interleave", 10, kMany, [](uint32_t rows) { hpmoe::Interleave(out, a, b, one, two, rows, 5, 10); }},
    {"RepeatColumns", 12, kMany, [](uint32_t rows) { hpmoe::RepeatColumns(out, a, one, two, rows, 4, 12); }},
    {"RepeatColumns in blocks", 16, 3, [](uint32_t rows) { hpmoe::RepeatColumns(out, a, one, two, rows, 2, 16); }},
    {"RepeatColumns in many blocks", 16, 150,
     [](uint32_t rows) { hpmoe::RepeatColumns(out, a, one, two, rows, 2, 16); }},
    {"RepeatColumns of whole rows", 128, 20,
     [](uint32_t rows) { hpmoe::RepeatColumns(out, a, one, two, rows, 16, 128); }},
    {"Reshape to more columns", 10, 150, [](uint32_t rows) { hpmoe::Reshape(out, a, one, rows, 5, 10); }},
    {"Reshape to fewer columns", 5, kMany, [](uint32_t rows) { hpmoe::Reshape(out, a, one, rows, 10, 5); }},
    {"Reshape in place", 16, 100, [](uint32_t rows) { hpmoe::Reshape(out, a, one, rows, 32, 16); }},
    {"SpreadRow", 10, kMany, [](uint32_t rows) { hpmoe::SpreadRow(out, a, rows, 10); }},
    {"SpreadColumn", 10, kMany, [](uint32_t rows) { hpmoe::SpreadColumn(out, a, rows, 10); }},
    {"SpreadNumber", 10, kMany, [](uint32_t rows) { hpmoe::SpreadNumber(out, a, rows, 10); }},
    {"ColumnIds", 10, kMany, [](uint32_t rows) { hpmoe::ColumnIds(out, a, rows, 10); }},
    {"ScaleRows", 10, kMany, [](uint32_t rows) { hpmoe::ScaleRows(out, a, b, rows, 10); }},
    {"ScaleColumns", 10, kMany, [](uint32_t rows) { hpmoe::ScaleColumns(out, a, b, rows, 10); }},
    {"AddRow", 10, kMany, [](uint32_t rows) { hpmoe::AddRow(out, a, b, rows, 10); }},
    {"EvenColumns", 5, kMany, [](uint32_t rows) { hpmoe::EvenColumns(out, a, rows, 10); }},
    {"OddColumns", 16, 100, [](uint32_t rows) { hpmoe::OddColumns(out, a, rows, 32); }},
    {"RowSum", 1, kMany, [](uint32_t rows) { hpmoe::RowSum(out, a, one, rows, 10); }},
    {"RowMean", 1, kMany, [](uint32_t rows) { hpmoe::RowMean(out, a, one, rows, 10); }},
    {"RowMax", 1, kMany, [](uint32_t rows) { hpmoe::RowMax(out, a, one, rows, 10); }},
    {"RowMin", 1, kMany, [](uint32_t rows) { hpmoe::RowMin(out, a, one, rows, 10); }},
    {"WeightedSum", 10, 150, [](uint32_t rows) { hpmoe::WeightedSum(out, a, b, one, rows, 10, 2, 0); }},
    {"FoldRows", 10, 150, [](uint32_t rows) { hpmoe::FoldRows(out, a, rows, 10, 2, 0); }},
    {"FoldRows of one", 10, kMany, [](uint32_t rows) { hpmoe::FoldRows(out, a, rows, 10, 1, 0); }},
    {"TopK", 2, 3, [](uint32_t rows) { hpmoe::TopK(out, a, one, two, two + 0x800, two + 0x1000, rows, 7, 2); }},
    {"Pick", 2, kMany, [](uint32_t rows) { hpmoe::Pick(out, a, b, one, two, rows, 7, 2); }},
    {"Pick of no columns", 2, kMany,
     [](uint32_t rows) {
         Duplicate(hpmoe::UbFrom<float>(b), -1.0f, static_cast<int32_t>(kArea / 4));
         PipeBarrier<PIPE_V>();
         hpmoe::Pick(out, a, b, one, two, rows, 7, 2);
     }},
    {"PlaceNumbers", 7, kMany, [](uint32_t rows) { hpmoe::PlaceNumbers(out, a, b, one, two, rows, 2, 7); }}};

/// All rows of the result equal the first one, and the row after them is unchanged.
CASE(routines_write_all_of_their_rows_and_no_more) {
    for (const Routine &routine : kRoutines) {
        for (uint32_t rows : {1u, 3u, routine.most}) {
            Buffer<float> all((rows + 1) * routine.cols);
            Setup setup;
            setup.aic = 0, setup.aiv = 1;
            setup.regions = {all.region("all")};
            HpmoeHostResult result = launch(setup, [&] {
                VectorCore core;
                Duplicate(hpmoe::Ub<float>(0, hpmoe::UB_TASKS), 1.0f, static_cast<int32_t>(hpmoe::UB_TASKS / 4));
                PipeBarrier<PIPE_V>();
                Duplicate(hpmoe::Ub<float>(out, kArea), 77.0f, static_cast<int32_t>(kArea / 4));
                PipeBarrier<PIPE_V>();
                routine.run(rows);
                SetFlag<HardEvent::V_MTE3>(0);
                WaitFlag<HardEvent::V_MTE3>(0);
                const hpmoe::View<float> to = {address(all.data), rows + 1, routine.cols, routine.cols};
                hpmoe::StoreRows(to, 0, rows + 1, hpmoe::Ub<float>(out, kArea));
                PipeBarrier<PIPE_ALL>();
            });
            EXPECT(result.code == HPMOE_HOST_OK, routine.name + (": " + std::string(result.message)));
            for (uint32_t i = 0; i < (rows + 1) * routine.cols; ++i) {
                const bool after = i >= rows * routine.cols;
                EXPECT(after ? all[i] == 77.0f : all[i] == all[i % routine.cols] && all[i] != 77.0f, routine.name);
            }
        }
    }
}

/// More values than the repeats of one call cover are copied, and what follows them is unchanged.
CASE(many_values_are_copied) {
    for (uint32_t count : {16u, 64u, 255u * 64, 255u * 64 + 16, 256u * 64, 300u * 64 + 32}) {
        constexpr uint32_t values = 80000;
        Buffer<float> numbers(count), all(count + 64);
        for (uint32_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i);
        Setup setup;
        setup.aic = 0, setup.aiv = 1;
        setup.regions = {numbers.region("numbers", false), all.region("all")};
        HpmoeHostResult result = launch(setup, [&] {
            VectorCore core;
            Duplicate(hpmoe::Ub<float>(0, values), 77.0f, static_cast<int32_t>(values / 4));
            DataCopy(hpmoe::UbFrom<float>(values), global(numbers.data), count);
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            PipeBarrier<PIPE_V>();
            hpmoe::CopyValues(0, values, static_cast<int32_t>(count));
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            DataCopy(global(all.data), hpmoe::UbFrom<float>(0), count + 64);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        bool right = true;
        for (uint32_t i = 0; i < count + 64; ++i) right &= all[i] == (i < count ? static_cast<float>(i) : 77.0f);
        EXPECT(right, std::to_string(count));
    }
}

/// Columns are copied even if the pitch of the source, the destination or both is too large for the repeats of a call.
CASE(columns_of_rows_that_lie_far_apart_are_copied) {
    constexpr uint32_t rows = 3, cols = 16, from = 0x10000, near = 255 * 8, far = 256 * 8;
    const uint32_t pitches[][2] = {{cols, near}, {cols, far}, {near, cols}, {far, cols}, {far, far}, {far, near}};
    for (const auto &[outPitch, fromPitch] : pitches) {
        Buffer<float> numbers(rows * fromPitch), all(rows * outPitch);
        for (uint32_t i = 0; i < rows * fromPitch; ++i) numbers[i] = static_cast<float>(i);
        Setup setup;
        setup.aic = 0, setup.aiv = 1;
        setup.regions = {numbers.region("numbers", false), all.region("all")};
        HpmoeHostResult result = launch(setup, [&] {
            VectorCore core;
            Duplicate(hpmoe::Ub<float>(0, rows * outPitch * 4), 77.0f, static_cast<int32_t>(rows * outPitch));
            DataCopy(hpmoe::UbFrom<float>(from), global(numbers.data), rows * fromPitch);
            SetFlag<HardEvent::MTE2_V>(0);
            WaitFlag<HardEvent::MTE2_V>(0);
            PipeBarrier<PIPE_V>();
            hpmoe::CopyColumns(0, outPitch, from, fromPitch, rows, cols);
            SetFlag<HardEvent::V_MTE3>(0);
            WaitFlag<HardEvent::V_MTE3>(0);
            DataCopy(global(all.data), hpmoe::UbFrom<float>(0), rows * outPitch);
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
        bool right = true;
        for (uint32_t i = 0; i < rows * outPitch; ++i) {
            const uint32_t row = i / outPitch, col = i % outPitch;
            right &= all[i] == (col < cols ? static_cast<float>(row * fromPitch + col) : 77.0f);
        }
        EXPECT(right, std::to_string(outPitch) + " from " + std::to_string(fromPitch));
    }
}

} // namespace
