// Vector calls: double buffering with its flags, masks, reductions, gathers, comparisons.
#include <cmath>

#include "harness.h"

using namespace AscendC;

namespace {

constexpr uint32_t kTile = 256, kTiles = 9;

enum Skip { Nothing, Mte2V, VMte2, VMte3, Mte3V, BarrierV, Count };

/// y = exp(x) * 2 + x, tile by tile through two buffers.
void doubleBuffered(Skip skip, float *x, float *y) {
    InitSocState();
    for (int s = 0; s < 2; ++s) {
        if (skip != VMte2) SetFlag<HardEvent::V_MTE2>(s);
        if (skip != Mte3V) SetFlag<HardEvent::MTE3_V>(s);
    }
    for (uint32_t i = 0; i < kTiles; ++i) {
        int s = i % 2;
        LocalTensor<float> in(TPosition::VECIN, s * 1024, kTile), out(TPosition::VECOUT, 4096 + s * 1024, kTile);
        LocalTensor<float> work(TPosition::VECCALC, 8192, kTile);
        if (skip != VMte2) WaitFlag<HardEvent::V_MTE2>(s);
        DataCopy(in, global(x)[i * kTile], kTile);
        if (skip != Mte2V) SetFlag<HardEvent::MTE2_V>(s), WaitFlag<HardEvent::MTE2_V>(s);
        Exp(work, in, kTile);
        if (skip != BarrierV) PipeBarrier<PIPE_V>();
        Muls(work, work, 2.0f, kTile);
        if (skip != BarrierV) PipeBarrier<PIPE_V>();
        if (skip != Mte3V) WaitFlag<HardEvent::MTE3_V>(s);
        Add(out, work, in, kTile);
        if (skip != BarrierV) PipeBarrier<PIPE_V>();
        if (skip != VMte2) SetFlag<HardEvent::V_MTE2>(s);
        if (skip != VMte3) SetFlag<HardEvent::V_MTE3>(s), WaitFlag<HardEvent::V_MTE3>(s);
        DataCopy(global(y)[i * kTile], out, kTile);
        if (skip != Mte3V) SetFlag<HardEvent::MTE3_V>(s);
    }
    for (int s = 0; s < 2; ++s) {
        if (skip != VMte2) WaitFlag<HardEvent::V_MTE2>(s);
        if (skip != Mte3V) WaitFlag<HardEvent::MTE3_V>(s);
    }
    PipeBarrier<PIPE_ALL>();
}

int outcome(Skip skip, uint64_t seed, std::string *message) {
    Buffer<float> x(kTile * kTiles), y(kTile * kTiles, -1.0f);
    Data data{3};
    for (size_t i = 0; i < x.count; ++i) x[i] = data.next();
    Setup setup;
    setup.aic = 0, setup.aiv = 1, setup.seed = seed;
    setup.regions = {x.region("x", false), y.region("y")};
    HpmoeHostResult result = launch(setup, [&] { doubleBuffered(skip, x.data, y.data); });
    *message = result.message;
    if (result.code) return 2;
    for (size_t i = 0; i < x.count; ++i)
        if (!(std::fabs(y[i] - (std::exp(x[i]) * 2 + x[i])) <= 1e-5f * std::fabs(y[i]) + 1e-6f)) return 1;
    return 0;
}

/// Runs a body on one vector core with a buffer of floats for its results.
void onVector(Buffer<float> &out, const std::function<void()> &body) {
    Setup setup;
    setup.aic = 0, setup.aiv = 1;
    setup.regions = {out.region("out")};
    HpmoeHostResult result = launch(setup, [&] {
        body();
        PipeBarrier<PIPE_ALL>();
    });
    EXPECT(result.code == 0, result.message);
}

LocalTensor<float> ub(uint32_t address, uint32_t n = 1024) {
    return LocalTensor<float>(TPosition::VECCALC, address, n);
}

/// Writes 0, 1, 2, …, times `step`, with the scalar unit; V waits for them.
void ramp(const LocalTensor<float> &to, uint32_t n, float step = 1.0f) {
    for (uint32_t i = 0; i < n; ++i) to.SetValue(i, static_cast<float>(i) * step);
    SetFlag<HardEvent::S_V>(0);
    WaitFlag<HardEvent::S_V>(0);
}

void show(Buffer<float> &out, const LocalTensor<float> &from, uint32_t n) {
    SetFlag<HardEvent::V_MTE3>(0);
    WaitFlag<HardEvent::V_MTE3>(0);
    DataCopy(global(out.data), from, n);
}

CASE(vector_double_buffer_is_right_for_every_seed) {
    std::string message;
    for (uint64_t seed = 0; seed < 60; ++seed) EXPECT(outcome(Nothing, seed, &message) == 0, message);
}

CASE(vector_double_buffer_without_any_one_flag_is_found) {
    static const char *const names[] = {"", "MTE2_V", "V_MTE2", "V_MTE3", "MTE3_V", "PIPE_V barrier"};
    for (int skip = 1; skip < Count; ++skip) {
        int found = 0;
        std::string message;
        for (uint64_t seed = 0; seed < 30; ++seed) found += outcome(static_cast<Skip>(skip), seed, &message) != 0;
        std::printf("    without %-14s found in %d of 30 runs: %.150s\n", names[skip], found, message.c_str());
        EXPECT(found >= 1, names[skip]);
    }
}

CASE(mask_forms_address_blocks_and_keep_other_lanes) {
    Buffer<float> out(128);
    onVector(out, [&] {
        ramp(ub(0), 16);
        Duplicate(ub(4096), -1.0f, 128);
        // Spread eight numbers to a block each, then multiply each block by the first block of numbers.
        Brcb(ub(1024), ub(0), 1, {1, 8});
        PipeBarrier<PIPE_V>();
        Mul(ub(4096), ub(1024), ub(0), uint64_t(20), 1, {1, 1, 0, 8, 8, 8}); // src1 stays at its first block
        show(out, ub(4096), 128);
    });
    for (uint32_t lane = 0; lane < 128; ++lane) {
        float want = lane < 20 ? static_cast<float>(lane / 8) * static_cast<float>(lane % 8) : -1.0f;
        EXPECT(out[lane] == want, std::to_string(lane) + ": " + std::to_string(out[lane]));
    }
    onVector(out, [&] {
        ramp(ub(0), 128);
        Duplicate(ub(4096), 7.0f, 128);
        PipeBarrier<PIPE_V>();
        uint64_t mask[2] = {0xFF00, 0};
        Adds(ub(4096), ub(0), 0.5f, mask, 2, {1, 1, 8, 0}); // both repeats read the same source
        show(out, ub(4096), 128);
    });
    for (uint32_t i = 0; i < 128; ++i) {
        float want = i % 64 / 8 == 1 ? static_cast<float>(i % 64) + 0.5f : 7.0f;
        EXPECT(out[i] == want, std::to_string(i) + ": " + std::to_string(out[i]));
    }
}

CASE(reductions_and_gathers) {
    Buffer<float> out(64);
    onVector(out, [&] {
        ramp(ub(0), 192);
        Duplicate(ub(8192), 0.0f, 64);
        PipeBarrier<PIPE_V>();
        WholeReduceSum(ub(8192), ub(0), 64, 3, 1, 1, 8);
        WholeReduceMax(ub(8192 + 64), ub(0), 10, 2, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        show(out, ub(8192), 64);
    });
    EXPECT(out[0] == 2016.0f && out[1] == 6112.0f && out[2] == 10208.0f && out[3] == 0.0f);
    EXPECT(out[16] == 9.0f && out[17] == 73.0f);
    onVector(out, [&] {
        LocalTensor<uint32_t> offsets(TPosition::VECCALC, 16384, 64);
        for (uint32_t i = 0; i < 64; ++i) offsets.SetValue(i, (63 - i) * 4);
        ramp(ub(0), 65);
        Gather(ub(8192), ub(0), offsets, 4, 64);
        show(out, ub(8192), 64);
    });
    EXPECT(out[0] == 64.0f && out[63] == 1.0f);
    onVector(out, [&] {
        LocalTensor<uint8_t> bits(TPosition::VECCALC, 16384, 32);
        ramp(ub(0), 64);
        Duplicate(ub(1024), 31.5f, 64);
        PipeBarrier<PIPE_V>();
        Compare(bits, ub(0), ub(1024), CMPMODE::LT, 64);
        PipeBarrier<PIPE_V>();
        Select(ub(8192), bits, ub(0), ub(1024), SELMODE::VSEL_TENSOR_TENSOR_MODE, 64);
        show(out, ub(8192), 64);
    });
    EXPECT(out[31] == 31.0f && out[32] == 31.5f && out[0] == 0.0f && out[63] == 31.5f);
}

CASE(comparisons_and_choices_with_a_scalar) {
    Buffer<float> out(64);
    onVector(out, [&] {
        LocalTensor<uint8_t> bits(TPosition::VECCALC, 16384, 32);
        ramp(ub(0), 64);
        PipeBarrier<PIPE_V>();
        CompareScalar(bits, ub(0), 40.0f, CMPMODE::GE, 64);
        PipeBarrier<PIPE_V>();
        Select(ub(8192), bits, ub(0), -1.0f, SELMODE::VSEL_TENSOR_SCALAR_MODE, 48); // leaves the last 16 floats alone
        Duplicate(ub(8192 + 192), 7.0f, 16);
        show(out, ub(8192), 64);
    });
    EXPECT(out[0] == -1.0f && out[39] == -1.0f && out[40] == 40.0f && out[47] == 47.0f && out[48] == 7.0f);
    onVector(out, [&] {
        ramp(ub(0), 192, -1.0f);
        Duplicate(ub(8192), 1.0f, 64);
        PipeBarrier<PIPE_V>();
        WholeReduceMin(ub(8192), ub(0), 64, 3, 1, 1, 8, ReduceOrder::ORDER_ONLY_VALUE);
        WholeReduceMin(ub(8192 + 64), ub(0), 10, 2, 1, 1, 8, ReduceOrder::ORDER_VALUE_INDEX);
        show(out, ub(8192), 64);
    });
    EXPECT(out[0] == -63.0f && out[1] == -127.0f && out[2] == -191.0f && out[3] == 1.0f);
    EXPECT(out[16] == -9.0f && host::bitsOf(out[17]) == 9 && out[18] == -73.0f && host::bitsOf(out[19]) == 9);
}

CASE(gather_mask_packs_what_its_pattern_chooses) {
    Buffer<float> out(64);
    uint64_t kept[4] = {};
    onVector(out, [&] {
        ramp(ub(0), 192);
        Duplicate(ub(8192), -1.0f, 64);
        PipeBarrier<PIPE_V>();
        GatherMask(ub(8192), ub(0), 1, true, 10, {1, 2, 8, 0}, kept[0]);      // two repeats of ten floats, 64 apart
        GatherMask(ub(8192 + 64), ub(0), 2, true, 7, {2, 1, 8, 0}, kept[1]);  // every second block
        GatherMask(ub(8192 + 96), ub(0), 6, false, 0, {1, 1, 8, 0}, kept[2]); // a whole repeat
        GatherMask(ub(8192 + 192), ub(0), 7, true, 8, {1, 0, 8, 0}, kept[3]); // no repeats
        show(out, ub(8192), 64);
    });
    for (uint32_t i = 0; i < 10; ++i) EXPECT(out[i] == static_cast<float>(i / 5 * 64 + i % 5 * 2));
    EXPECT(out[10] == -1.0f && out[16] == 1.0f && out[18] == 5.0f && out[19] == -1.0f);
    for (uint32_t i = 0; i < 16; ++i) EXPECT(out[24 + i] == static_cast<float>(4 * i + 3));
    EXPECT(out[40] == -1.0f && kept[0] == 10 && kept[1] == 3 && kept[2] == 16 && kept[3] == 0);
}

CASE(gather_mask_packs_what_the_bits_of_a_tensor_choose) {
    Buffer<float> out(64);
    int64_t counted[3] = {};
    onVector(out, [&] {
        const LocalTensor<uint8_t> bits(TPosition::VECCALC, 16384, 32);
        const LocalTensor<uint32_t> pattern = bits.ReinterpretCast<uint32_t>();
        uint64_t early = 0;
        ramp(ub(0), 128);
        Duplicate(ub(8192), -1.0f, 64);
        PipeBarrier<PIPE_V>();
        CompareScalar(bits, ub(0), 40.0f, CMPMODE::GE, 128);
        PipeBarrier<PIPE_V>();
        auto packed = [&](uint32_t to, uint32_t count) {
            GatherMask(ub(to), ub(0), pattern, true, count, {1, 1, 8, 1}, early);
            SetFlag<HardEvent::V_S>(0);
            WaitFlag<HardEvent::V_S>(0);
            return GetGatherMaskRemainCount();
        };
        counted[0] = packed(8192, 50);      // ten of the first 50 bits are set
        counted[1] = packed(8192 + 64, 40); // none of the first 40 bits is set
        GatherMask(ub(8192 + 96), ub(0), 2, true, 7, {1, 1, 8, 0}, early);
        SetFlag<HardEvent::V_S>(0);
        WaitFlag<HardEvent::V_S>(0);
        counted[2] = GetGatherMaskRemainCount();
        show(out, ub(8192), 64);
    });
    for (uint32_t i = 0; i < 10; ++i) EXPECT(out[i] == static_cast<float>(40 + i));
    EXPECT(out[10] == -1.0f && out[16] == -1.0f && out[24] == 1.0f && out[26] == 5.0f && out[27] == -1.0f);
    EXPECT(counted[0] == 10 && counted[1] == 0 && counted[2] == 3);
}

CASE(writers_of_different_bytes_of_a_block_do_not_race) {
    Buffer<float> out(8);
    onVector(out, [&] {
        ramp(ub(0), 128);
        WholeReduceSum(ub(8192), ub(0), 64, 1, 1, 1, 8);
        WholeReduceSum(ub(8196), ub(256), 64, 1, 1, 1, 8);
        SetFlag<HardEvent::V_MTE3>(0);
        WaitFlag<HardEvent::V_MTE3>(0);
        DataCopyPad(global(out.data), ub(8192), DataCopyExtParams(1, 8, 0, 0, 0));
    });
    EXPECT(out[0] == 2016.0f && out[1] == 6112.0f && out[2] == 0.0f);
}

} // namespace
