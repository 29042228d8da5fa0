// Layouts of copies: ND to NZ, fractals into L0, strided and padded rows, constants.
#include "harness.h"

using namespace AscendC;

namespace {

/// Runs a body on one matrix core, then waits for all pipes.
HpmoeHostResult onMatrix(std::vector<HpmoeHostRegion> regions, const std::function<void()> &body) {
    Setup setup;
    setup.aiv = 0, setup.regions = std::move(regions);
    return launch(setup, [&] {
        body();
        PipeBarrier<PIPE_ALL>();
    });
}

HpmoeHostResult onVector(std::vector<HpmoeHostRegion> regions, uint64_t seed, const std::function<void()> &body) {
    Setup setup;
    setup.aic = 0, setup.aiv = 1, setup.seed = seed, setup.regions = std::move(regions);
    return launch(setup, [&] {
        body();
        PipeBarrier<PIPE_ALL>();
    });
}

void mte2ToMte3() {
    SetFlag<HardEvent::MTE2_MTE3>(0);
    WaitFlag<HardEvent::MTE2_MTE3>(0);
}

CASE(nd_to_nz_pads_columns_with_zero_and_leaves_rows) {
    constexpr uint32_t rows = 5, cols = 23, pitch = 40, rp = 16;
    Buffer<bfloat16_t> in(rows * pitch), out(2 * rp * 16, bfloat16_t(-1.0f));
    for (size_t i = 0; i < in.count; ++i) in[i] = bfloat16_t(static_cast<float>(i));
    HpmoeHostResult result = onMatrix({in.region("in", false), out.region("out")}, [&] {
        LocalTensor<bfloat16_t> l1(TPosition::A1, 0, 512);
        InitConstValue(l1, InitConstValueParams<bfloat16_t>(1, 32, 0, bfloat16_t(99.0f)));
        PipeBarrier<PIPE_MTE2>();
        DataCopy(l1, global(in.data), Nd2NzParams(1, rows, cols, 0, pitch, rp, 1, 0));
        mte2ToMte3();
        DataCopy(global(out.data), l1, 512);
    });
    EXPECT(result.code == 0, result.message);
    for (uint32_t r = 0; r < rp; ++r)
        for (uint32_t c = 0; c < 32; ++c) {
            float want = r >= rows ? 99.0f : c < cols ? float(bfloat16_t(static_cast<float>(r * pitch + c))) : 0.0f;
            EXPECT(float(out[(c / 16) * rp * 16 + r * 16 + c % 16]) == want,
                   std::to_string(r) + "," + std::to_string(c));
        }
}

CASE(load_data_transposes_and_strides) {
    // B is stored as [K, N] and loaded into L0B with transposition. A is an identity, so C has B's first rows.
    constexpr uint32_t k = 32, n = 48;
    Buffer<half> a(16 * k), b(k * n);
    Buffer<float> c(16 * n);
    for (size_t i = 0; i < a.count; ++i) a[i] = half(i / k == i % k ? 1.0f : 0.0f);
    for (size_t i = 0; i < b.count; ++i) b[i] = half(static_cast<float>(i % 1999));
    HpmoeHostResult result = onMatrix({a.region("a", false), b.region("b", false), c.region("c")}, [&] {
        LocalTensor<half> l1A(TPosition::A1, 0, 16 * k), l1B(TPosition::B1, 4096, k * n);
        LocalTensor<half> l0A(TPosition::A2, 0, 16 * k), l0B(TPosition::B2, 0, k * n);
        LocalTensor<float> l0C(TPosition::CO1, 0, 16 * n);
        DataCopy(l1A, global(a.data), Nd2NzParams(1, 16, k, 0, k, 16, 1, 0));
        DataCopy(l1B, global(b.data), Nd2NzParams(1, k, n, 0, n, k, 1, 0));
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        LoadData(l0A, l1A, LoadData2DParams(0, k / 16, 1, 0, 0, false, 0));
        for (uint32_t k1 = 0; k1 < k / 16; ++k1)
            LoadData(l0B[k1 * (n / 16) * 256], l1B[k1 * 256], LoadData2DParams(0, n / 16, k / 16, 0, 0, true, 0));
        SetFlag<HardEvent::MTE1_M>(0);
        WaitFlag<HardEvent::MTE1_M>(0);
        Mmad(l0C, l0A, l0B, MmadParams(16, n, k, 0, false, true));
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        Fixpipe<float, float, CFG_ROW_MAJOR>(global(c.data), l0C, FixpipeParamsV220(n, 16, 16, n, false));
    });
    EXPECT(result.code == 0, result.message);
    for (uint32_t i = 0; i < 16 * n; ++i) EXPECT(c[i] == float(b[i]), std::to_string(i));
}

CASE(bias_comes_through_the_bias_table) {
    constexpr uint32_t n = 40;
    Buffer<bfloat16_t> a(16 * 16, bfloat16_t(1.0f)), w(48 * 16, bfloat16_t(2.0f));
    Buffer<float> bias(n), c(16 * n);
    for (uint32_t j = 0; j < n; ++j) bias[j] = static_cast<float>(j);
    HpmoeHostResult result = onMatrix({a.region("a"), w.region("w"), bias.region("bias"), c.region("c")}, [&] {
        LocalTensor<bfloat16_t> l1A(TPosition::A1, 0, 256), l1W(TPosition::B1, 512, 768);
        LocalTensor<bfloat16_t> l0A(TPosition::A2, 0, 256), l0B(TPosition::B2, 0, 768);
        LocalTensor<float> l1Bias(TPosition::C1, 4096, 48), table(TPosition::C2, 0, 48), l0C(TPosition::CO1, 0, 768);
        DataCopy(l1A, global(a.data), Nd2NzParams(1, 16, 16, 0, 16, 16, 1, 0));
        DataCopy(l1W, global(w.data), Nd2NzParams(1, 48, 16, 0, 16, 48, 1, 0));
        DataCopy(l1Bias, global(bias.data), Nd2NzParams(1, 1, n, 0, n, 1, 1, 0));
        SetFlag<HardEvent::MTE2_MTE1>(0);
        WaitFlag<HardEvent::MTE2_MTE1>(0);
        LoadData(l0A, l1A, LoadData2DParams(0, 1, 1, 0, 0, false, 0));
        LoadData(l0B, l1W, LoadData2DParams(0, 3, 1, 0, 0, false, 0));
        DataCopy(table, l1Bias, DataCopyParams(1, 3, 0, 0));
        SetFlag<HardEvent::MTE1_M>(0);
        WaitFlag<HardEvent::MTE1_M>(0);
        Mmad(l0C, l0A, l0B, table, MmadParams(16, n, 16, 0, false, false));
        SetFlag<HardEvent::M_FIX>(0);
        WaitFlag<HardEvent::M_FIX>(0);
        Fixpipe<float, float>(global(c.data), l0C, FixpipeParamsV220(n, 16, 16, n, false));
    });
    EXPECT(result.code == 0, result.message);
    for (uint32_t i = 0; i < 16 * n; ++i) EXPECT(c[i] == 32.0f + static_cast<float>(i % n), std::to_string(c[i]));
}

CASE(padded_copies_stride_and_keep_what_lies_between) {
    constexpr uint32_t rows = 7, cols = 11, inPitch = 13, outPitch = 17;
    for (uint64_t seed = 0; seed < 10; ++seed) {
        Buffer<float> in(rows * inPitch), out(rows * outPitch, -5.0f), image(rows * 24);
        for (size_t i = 0; i < in.count; ++i) in[i] = static_cast<float>(i);
        HpmoeHostResult result = onVector({in.region("in"), out.region("out"), image.region("image")}, seed, [&] {
            LocalTensor<float> ub(TPosition::VECIN, 0, rows * 24);
            LocalTensor<float> row(TPosition::VECIN, 8192, rows * 24);
            // With one float of padding on the left, a row has 12 floats: 48 B, in 64 B of UB, with a block between rows.
            DataCopyPad(ub, global(in.data), DataCopyExtParams(rows, cols * 4, (inPitch - cols) * 4, 1, 0),
                        DataCopyPadExtParams<float>(true, 1, 0, 42.0f));
            DataCopyPad(row, global(in.data), DataCopyExtParams(rows, cols * 4, (inPitch - cols) * 4, 0, 0),
                        DataCopyPadExtParams<float>());
            mte2ToMte3();
            DataCopyPad(global(out.data), row, DataCopyExtParams(rows, cols * 4, 0, (outPitch - cols) * 4, 0));
            DataCopy(global(image.data), ub, DataCopyParams(rows, 2, 1, 1));
        });
        EXPECT(result.code == 0, result.message);
        for (uint32_t r = 0; r < rows; ++r) {
            for (uint32_t c = 0; c < outPitch && r * outPitch + c < out.count; ++c)
                EXPECT(out[r * outPitch + c] == (c < cols ? in[r * inPitch + c] : -5.0f));
            for (uint32_t c = 0; c < 24; ++c) {
                float want = c >= 16 ? 0.0f : c >= 1 && c <= cols ? in[r * inPitch + c - 1] : 42.0f;
                EXPECT(image[r * 24 + c] == want, std::to_string(r) + "," + std::to_string(c));
            }
        }
    }
}

/// Runs a body on 4 KiB of L1, then compares them with `want`.
void expectL1(const std::function<void(const LocalTensor<int32_t> &)> &body,
              const std::function<int32_t(uint32_t word)> &want) {
    constexpr uint32_t words = 1024;
    Buffer<int32_t> out(words);
    HpmoeHostResult result = onMatrix({out.region("out")}, [&] {
        LocalTensor<int32_t> l1(TPosition::A1, 0, words);
        body(l1);
        mte2ToMte3();
        DataCopy(global(out.data), l1, words);
    });
    EXPECT(result.code == 0, result.message);
    for (uint32_t word = 0; word < words; ++word)
        EXPECT(out[word] == want(word), std::to_string(word) + ": " + std::to_string(out[word]));
}

CASE(a_launch_finds_nothing_of_the_one_before) {
    auto untouched = [](uint32_t) { return -1; };
    expectL1([](const LocalTensor<int32_t> &l1) { InitConstValue(l1, InitConstValueParams<int32_t>(1, 128, 0, 7)); },
             [](uint32_t) { return 7; });
    expectL1([](const LocalTensor<int32_t> &) {}, untouched);
    // After a fill of one part, the rest does not show the launch before, either.
    expectL1(
        [](const LocalTensor<int32_t> &l1) { InitConstValue(l1[512], InitConstValueParams<int32_t>(1, 16, 0, 7)); },
        [](uint32_t word) { return word >= 512 && word < 640 ? 7 : -1; });
    expectL1([](const LocalTensor<int32_t> &) {}, untouched);
}

CASE(fills_keep_what_lies_beside_and_between) {
    // Fills may begin and end anywhere in a group of blocks. A later fill of a part of a filled group keeps the rest.
    expectL1(
        [](const LocalTensor<int32_t> &l1) {
            InitConstValue(l1[24], InitConstValueParams<int32_t>(2, 37, 3, 9)); // words 24..320 and 344..640
            PipeBarrier<PIPE_MTE2>();
            InitConstValue(l1[128], InitConstValueParams<int32_t>(1, 16, 0, 4));
            PipeBarrier<PIPE_MTE2>();
            InitConstValue(l1[160], InitConstValueParams<int32_t>(1, 1, 0, 5));
        },
        [](uint32_t word) {
            bool filled = (word >= 24 && word < 320) || (word >= 344 && word < 640);
            return word >= 160 && word < 168 ? 5 : word >= 128 && word < 256 ? 4 : filled ? 9 : -1;
        });
}

} // namespace
