// A broken rule ends the launch with a message that says what is wrong, where, and what to do.
#include <thread>

#include "harness.h"

using namespace AscendC;

namespace {

struct Memory {
    Buffer<float> own{1024, 0.0f}, constant{1024, 0.0f}, peer{1024, 0.0f}, hidden{1024, 0.0f};
    std::vector<HpmoeHostRegion> regions() {
        return {own.region("own"), constant.region("constant", false), peer.region("peer", true, 1, true),
                hidden.region("hidden", true, 1)};
    }
};

void refusedOn(bool aic, const char *file, int line, std::vector<const char *> words,
               const std::function<void(Memory &)> &body) {
    Memory memory;
    Setup setup;
    setup.aic = aic ? 1 : 0, setup.aiv = aic ? 0 : 1, setup.regions = memory.regions();
    HpmoeHostResult result = launch(setup, [&] {
        body(memory);
        PipeBarrier<PIPE_ALL>();
    });
    expectAt(result.code == HPMOE_HOST_BROKEN_RULE, file, line, "a refusal");
    expectAt(contains(result.message, aic ? "rank 0, AIC 0: " : "rank 0, AIV 0: "), file, line, "the core",
             result.message);
    for (const char *word : words) expectAt(contains(result.message, word), file, line, word, result.message);
}

using F = LocalTensor<float>;
using B = LocalTensor<bfloat16_t>;
F ub(uint32_t address) { return F(TPosition::VECCALC, address, 1024); }

#define AIV(WORDS, ...) refusedOn(false, __FILE__, __LINE__, WORDS, [&]([[maybe_unused]] Memory &m) { __VA_ARGS__; })
#define AIC(WORDS, ...) refusedOn(true, __FILE__, __LINE__, WORDS, [&]([[maybe_unused]] Memory &m) { __VA_ARGS__; })
#define W(...) (std::vector<const char *>{__VA_ARGS__})

CASE(copies_are_checked) {
    AIV(W("DataCopy at ", "rules.cpp", "not a multiple of 32 B", "DataCopyPad"),
        DataCopy(ub(0), global(m.own.data), 9));
    AIV(W("byte 4 of UB", "not a multiple of 32"), DataCopy(ub(4), global(m.own.data), 8));
    AIV(W("bytes 188000..188192 of UB", "188160 are usable"), DataCopy(ub(188000), global(m.own.data), 48));
    AIV(W("blockCount = 4096"), DataCopy(ub(0), global(m.own.data), DataCopyParams(4096, 1, 0, 0)));
    AIV(W("is in L1, which an AIV does not have"), DataCopy(F(TPosition::A1, 0, 64), global(m.own.data), 8));
    AIC(W("is in UB, which an AIC does not have"), DataCopy(ub(0), global(m.own.data), 8));
    AIC(W("exists on an AIV only"),
        DataCopyPad(ub(0), global(m.own.data), DataCopyExtParams(), DataCopyPadExtParams<float>()));
    AIV(W("leftPadding = 9"), DataCopyPad(ub(0), global(m.own.data), DataCopyExtParams(1, 4, 0, 0, 0),
                                          DataCopyPadExtParams<float>(true, 9, 0, 0)));
    AIV(W("rsv is reserved"),
        DataCopyPad(ub(0), global(m.own.data), DataCopyExtParams(1, 4, 0, 0, 1), DataCopyPadExtParams<float>()));
    AIV(W("rsv is reserved"), DataCopyPad(global(m.own.data), ub(0), DataCopyExtParams(1, 4, 0, 0, 1)));
    AIC(W("sid is reserved"),
        LoadData(F(TPosition::A2, 0, 512), F(TPosition::A1, 0, 512), LoadData2DParams(0, 1, 1, 1, 0, false, 0)));
    AIV(W("from UB to UB", "event ids of a TPipe", "use Copy"), DataCopy(ub(256), ub(0), 16));
    AIV(W("from UB to UB"), DataCopy(ub(256), ub(0), DataCopyParams(1, 1, 0, 0)));
    AIV(W("which repeat 0 writes", "apart"), Copy(ub(256), ub(0), 64, 2, CopyRepeatParams(1, 1, 8, 8)));
    AIC(W("srcDValue = 0"),
        DataCopy(F(TPosition::A1, 0, 64), global(m.own.data), Nd2NzParams(1, 2, 8, 0, 0, 16, 1, 0)));
    AIC(W("dstNzC0Stride = 16385"),
        DataCopy(F(TPosition::A1, 0, 64), global(m.own.data), Nd2NzParams(1, 2, 8, 0, 8, 16385, 1, 0)));
    AIC(W("dstNzMatrixStride = 0: 2 matrices"),
        DataCopy(F(TPosition::A1, 0, 64), global(m.own.data), Nd2NzParams(2, 1, 8, 8, 8, 16, 1, 0)));
    AIC(W("nValue = 16385"),
        DataCopy(F(TPosition::A1, 0, 64), global(m.own.data), Nd2NzParams(1, 16385, 8, 0, 8, 16, 1, 0)));
    AIV(W("SetAtomicAdd is on for int32_t"), SetAtomicAdd<int32_t>(), DataCopy(global(m.own.data), ub(0), 8));
}

CASE(tensors_end_where_they_say) {
    const F small(TPosition::VECCALC, 64, 16);
    AIV(W("the destination takes bytes 64..160 of UB", "the tensor ends at byte 128"), Duplicate(small, 0.0f, 24));
    AIV(W("the destination takes bytes 96..160 of UB", "ends at byte 128"), Duplicate(small[8], 0.0f, 16));
    AIV(W("the first source takes bytes 64..160 of UB"), Adds(ub(0), small, 1.0f, 24));
    AIV(W("takes bytes 128..132 of UB", "ends at byte 128"), small.SetValue(16, 0.0f));
    AIV(W("takes bytes 64..192 of UB", "ends at byte 128"),
        DataCopy(small.ReinterpretCast<bfloat16_t>(), global(reinterpret_cast<bfloat16_t *>(m.own.data)), 64));
    AIC(W("takes bytes 0..256 of L1", "ends at byte 128"), DataCopy(F(TPosition::A1, 0, 32), global(m.own.data), 64));
    AIV(W("the destination is a tensor up to byte 188164 of UB, of which 188160 are usable"),
        Duplicate(F(TPosition::VECCALC, 64, (184 * 1024 - 256 - 60) / 4), 0.0f, 8));
}

CASE(global_memory_is_checked) {
    AIV(W("reads 64 bytes", "outside every region", "they start at byte 4064 of region own"),
        DataCopy(ub(0), global(m.own.data)[1016], 16));
    AIV(W("writes region constant", "read-only"), DataCopy(global(m.constant.data), ub(0), 8));
    AIV(W("reads memory of rank 1 (region peer)"), DataCopy(ub(0), global(m.peer.data), 8));
    AIV(W("reads (scalar) memory of rank 1"), global(m.peer.data).GetValue(0));
    AIV(W("private memory of rank 1 (region hidden)"), DataCopy(global(m.hidden.data), ub(0), 8));
    AIV(W("not aligned"), ReadGmByPassDCache(reinterpret_cast<int64_t *>(reinterpret_cast<char *>(m.own.data) + 4)));
}

CASE(flags_are_checked) {
    AIV(W("an AIV has no event M_FIX"), SetFlag<HardEvent::M_FIX>(0));
    AIC(W("an AIC has no event MTE2_V"), SetFlag<HardEvent::MTE2_V>(0));
    AIV(W("id = 8"), SetFlag<HardEvent::MTE2_V>(8));
    AIV(W("MTE2_V 0 is set twice", "rules.cpp"), SetFlag<HardEvent::MTE2_V>(0), SetFlag<HardEvent::MTE2_V>(0));
    AIV(W("may be set twice"), SetFlag<HardEvent::MTE2_V>(0), WaitFlag<HardEvent::MTE2_V>(0),
        DataCopy(ub(0), global(m.own.data), 8), SetFlag<HardEvent::MTE2_V>(0), WaitFlag<HardEvent::MTE2_V>(0));
    AIV(W("MTE2_V 3 was still set"), SetFlag<HardEvent::MTE2_V>(3));
    AIV(W("MTE2_V 0 was still set"), SetFlag<HardEvent::MTE2_V>(0));
    AIV(W("MTE2_V 7 was still set"), SetFlag<HardEvent::MTE2_V>(7));
    AIV(W("deadlock", "waits for flag V_S 1"), WaitFlag<HardEvent::V_S>(1));
    AIV(W("deadlock", "in front of PIPE_V: WaitFlag<MTE2_V>(2) at rules.cpp"), WaitFlag<HardEvent::MTE2_V>(2));
    AIV(W("an AIV has no PIPE_M"), PipeBarrier<PIPE_M>());
    AIC(W("an AIC has no PIPE_V"), PipeBarrier<PIPE_V>());
}

CASE(the_end_of_a_kernel_is_checked) {
    Memory memory;
    Setup setup;
    setup.aic = 0, setup.aiv = 1, setup.regions = memory.regions();
    HpmoeHostResult result = launch(setup, [&] { DataCopy(ub(0), global(memory.own.data), 8); });
    EXPECT(result.code == 1 && contains(result.message, "PipeBarrier<PIPE_ALL>()"), result.message);
    AIV(W("never written back", "DataCacheCleanAndInvalid"), global(m.own.data).SetValue(3, 1.0f));
    // Only an eviction writes line 0 back, since line 512 takes its place. Another launch may have no eviction.
    Buffer<int32_t> wide(2 * 32 * 1024 / 4, 0);
    setup.regions.push_back(wide.region("wide"));
    result = launch(setup, [&] {
        global(wide.data).SetValue(0, 1);
        global(wide.data).GetValue(32 * 1024 / 4);
    });
    EXPECT(result.code == 1 && contains(result.message, "never written back"), result.message);
    // The stores of a stopped core still reach memory, so that its record is not lost.
    result = launch(setup, [&] {
        global(memory.own.data).SetValue(5, 7.0f);
        DataCopy(ub(0), global(memory.own.data), 9);
    });
    EXPECT(result.code == 1 && memory.own[5] == 7.0f, result.message);
}

/// Runs a body on one core without the start and end of a kernel.
HpmoeHostResult bare(bool aic, Memory &memory, std::function<void()> body) {
    Setup setup;
    setup.aic = aic ? 1 : 0, setup.aiv = aic ? 0 : 1, setup.bare = true, setup.regions = memory.regions();
    return launch(setup, std::move(body));
}

CASE(state_registers_do_not_come_from_the_kernel_before) {
    Memory m;
    auto first = [&](bool aic, const std::function<void()> &body) {
        HpmoeHostResult result = bare(aic, m, body);
        EXPECT(result.code == HPMOE_HOST_BROKEN_RULE && contains(result.message, "InitSocState() first"),
               result.message);
    };
    first(false, [] { Adds(ub(0), ub(8192), 1.0f, 64); });
    first(false, [&] { DataCopy(global(m.own.data), ub(0), 8); });
    first(true, [&] { DataCopy(global(m.own.data), F(TPosition::A1, 0, 64), 8); });
    first(true, [&] {
        Fixpipe<float, float>(global(m.own.data), F(TPosition::CO1, 0, 1024), FixpipeParamsV220(16, 16, 16, 16, false));
    });
}

CASE(products_of_floats_take_all_bits_where_the_kernel_says_so) {
    Memory m;
    auto run = [&](const std::function<void()> &mode) {
        Setup setup;
        setup.aic = 1, setup.aiv = 0, setup.bare = true, setup.regions = m.regions();
        return launch(setup, [&] {
            begin();
            mode();
            InitConstValue(F(TPosition::A2, 0, 256), {1, 1, 0, 0});
            InitConstValue(F(TPosition::B2, 0, 256), {1, 1, 0, 0});
            PipeBarrier<PIPE_ALL>();
            Mmad(F(TPosition::CO1, 0, 256), F(TPosition::A2, 0, 128), F(TPosition::B2, 0, 128),
                 MmadParams(16, 16, 8, 0, false, true));
            PipeBarrier<PIPE_ALL>();
        });
    };
    for (const std::function<void()> &mode :
         {std::function<void()>([] {}), std::function<void()>([] { SetHF32Mode(true); })}) {
        HpmoeHostResult result = run(mode);
        EXPECT(result.code == HPMOE_HOST_BROKEN_RULE && contains(result.message, "call SetHF32Mode(false) first"),
               result.message);
    }
    HpmoeHostResult result = run([] { SetHF32Mode(false); });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
    AIV(W("SetHF32Mode", "exists on an AIC only"), SetHF32Mode(false));
}

// An external operator may use the memory that it declares and the flags that the library leaves to it, nothing else.
CASE(operators_keep_to_what_they_declare) {
    AIV(W("DataCopy at ", "bytes 96..160 of UB", "the external operator `mine` has 128", "`ub = ..`"),
        HPMOE_OPERATOR_BEGINS("mine", 128);
        DataCopy(ub(96), global(m.own.data), 16));
    AIV(W("Adds at ", "bytes 128..192 of UB", "`mine` has 128"), HPMOE_OPERATOR_BEGINS("mine", 128);
        Adds(ub(128), ub(0), 1.0f, 16));
    AIC(W("bytes 64..128 of L1", "`ops::gemm` has 64", "`l1 = ..`"), HPMOE_OPERATOR_BEGINS("ops::gemm", 64, 0, 0, 0);
        DataCopy(F(TPosition::A1, 64, 64), global(m.own.data), 16));
    AIC(W("of L0C", "`ops::gemm` has 1024", "`l0c = ..`"), HPMOE_OPERATOR_BEGINS("ops::gemm", 0, 65536, 65536, 1024);
        Mmad(F(TPosition::CO1, 1024, 256), B(TPosition::A2, 0, 256), B(TPosition::B2, 0, 256),
             MmadParams(16, 16, 16, 0, false, true)));
    AIV(W("flag MTE2_V 6 is the library's", "`mine` uses it", "ids 0 to 5"), HPMOE_OPERATOR_BEGINS("mine", 128);
        SetFlag<HardEvent::MTE2_V>(6));
    AIV(W("flag MTE3_S 3 is the library's", "of MTE3_S 4 to 5"), HPMOE_OPERATOR_BEGINS("mine", 128);
        SetFlag<HardEvent::MTE3_S>(3));
    AIC(W("flag MTE3_S 0 is the library's", "of MTE3_S 1 to 5"), HPMOE_OPERATOR_BEGINS("ops::gemm", 0, 0, 0, 0);
        WaitFlag<HardEvent::MTE3_S>(0));
    // Allowed: accesses up to the limits, and anything that the library does after the operator has returned.
    Memory m;
    Setup setup;
    setup.aic = 0, setup.aiv = 1, setup.regions = m.regions();
    HpmoeHostResult result = launch(setup, [&] {
        HPMOE_OPERATOR_BEGINS("mine", 128);
        DataCopy(ub(64), global(m.own.data), 16);
        SetFlag<HardEvent::MTE3_S>(4);
        WaitFlag<HardEvent::MTE3_S>(4);
        SetFlag<HardEvent::MTE2_V>(5);
        WaitFlag<HardEvent::MTE2_V>(5);
        HPMOE_OPERATOR_ENDS();
        DataCopy(ub(128), global(m.own.data), 16);
        SetFlag<HardEvent::MTE2_V>(7);
        WaitFlag<HardEvent::MTE2_V>(7);
        PipeBarrier<PIPE_ALL>();
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
}

CASE(infinities_of_16_bit_floats_are_kept_by_the_kernel_that_needs_them) {
    Memory m;
    using Halves = LocalTensor<half>;
    using Bf16 = LocalTensor<bfloat16_t>;
    auto run = [&](bool aic, uint32_t seed, const std::function<void()> &body) {
        Setup setup;
        setup.aic = aic ? 1 : 0, setup.aiv = aic ? 0 : 1, setup.bare = true, setup.seed = seed;
        setup.regions = m.regions();
        return launch(setup, [&] {
            begin();
            body();
            PipeBarrier<PIPE_ALL>();
        });
    };
    const std::pair<bool, std::function<void()>> computing[] = {
        {false, [] { Cast(Halves(TPosition::VECCALC, 0, 64), ub(8192), RoundMode::CAST_RINT, 64); }},
        {false, [] { Cast(Bf16(TPosition::VECCALC, 0, 64), ub(8192), RoundMode::CAST_RINT, 64); }},
        {false, [] { Abs(Halves(TPosition::VECCALC, 0, 64), Halves(TPosition::VECCALC, 8192, 64), 64); }},
        {true,
         [] {
             Mmad(F(TPosition::CO1, 0, 256), Halves(TPosition::A2, 0, 256), Halves(TPosition::B2, 0, 256),
                  MmadParams(16, 16, 16, 0, false, true));
         }},
        {true,
         [&] {
             Fixpipe<half, float>(global(reinterpret_cast<half *>(m.own.data)), F(TPosition::CO1, 0, 1024),
                                  FixpipeParamsV220(16, 16, 16, 16, false, F322F16, 0, 1, 0, 0, 0));
         }},
    };
    for (const auto &[aic, compute] : computing) {
        HpmoeHostResult result = run(aic, 1, compute);
        EXPECT(contains(result.message, "call set_ctrl(sbitset1(get_ctrl(), 48)) first"), result.message);
        result = run(aic, 1, [&] { set_ctrl(sbitset0(control(), 48)), compute(); });
        EXPECT(contains(result.message, "call set_ctrl(sbitset1(get_ctrl(), 48)) first"), result.message);
        result = run(aic, 1, [&] {
            const uint64_t before = control();
            set_ctrl(sbitset1(before, 48)), compute(), set_ctrl(before);
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
    }
    // The mode that a kernel finds depends on the seed; the kernel must restore it.
    int refused = 0;
    for (uint32_t seed = 0; seed < 16; ++seed) {
        HpmoeHostResult result = run(false, seed, [] { set_ctrl(sbitset1(control(), 48)); });
        refused += contains(result.message, "nothing else restores it") ? 1 : 0;
    }
    EXPECT(refused > 0 && refused < 16, std::to_string(refused));
    // The other bits are not this kernel's to change, and they differ from core to core.
    HpmoeHostResult result = run(false, 0, [] { set_ctrl(sbitset1(0, 48)); });
    EXPECT(contains(result.message, "bits other than 48"), result.message);
    for (const int64_t bit : {0, 46, 47, 51, 63}) {
        result = run(true, 0, [&] { set_ctrl(control() ^ 1ull << bit); });
        EXPECT(contains(result.message, "bits other than 48"), result.message);
    }
    // Calls that set a mode change its bit of the register.
    result = run(true, 0, [] {
        const uint64_t before = control();
        SetMMLayoutTransform(true), SetHF32Mode(true);
        EXPECT(control() == (before | 1ull << 51 | 1ull << 46), std::to_string(control() ^ before));
        set_ctrl(control());
        SetMMLayoutTransform(false), SetHF32Mode(false);
    });
    EXPECT(result.code == HPMOE_HOST_OK, result.message);
}

CASE(state_registers_do_not_go_to_the_kernel_behind) {
    Memory m;
    auto last = [&](bool aic, const char *way, const std::function<void()> &body) {
        HpmoeHostResult result = bare(aic, m, [&] {
            begin();
            body();
            PipeBarrier<PIPE_ALL>();
        });
        bool refused = result.code == HPMOE_HOST_BROKEN_RULE && contains(result.message, way) &&
                       contains(result.message, "rules.cpp");
        EXPECT(refused, result.message);
    };
    last(true, "SetMMLayoutTransform(false)", [] { SetMMLayoutTransform(true); });
    last(true, "SetHF32Mode(false)", [] { SetHF32Mode(true); });
    last(true, "SetAtomicNone()", [] { SetAtomicAdd<float>(); });
    last(false, "SetAtomicNone()", [] { SetAtomicAdd<int32_t>(); });
    last(false, "ResetMask()", [] { Adds(ub(0), ub(8192), 1.0f, uint64_t(64), 1, UnaryRepeatParams()); });
    uint64_t kept = 0;
    last(false, "ResetMask()", [&] { GatherMask(ub(0), ub(8192), 1, true, 64, {1, 1, 8, 0}, kept); });
    auto clean = [&](bool aic, const std::function<void()> &body) {
        HpmoeHostResult result = bare(aic, m, [&] {
            begin();
            body();
            PipeBarrier<PIPE_ALL>();
        });
        EXPECT(result.code == HPMOE_HOST_OK, result.message);
    };
    clean(true,
          [] { SetMMLayoutTransform(true), SetAtomicAdd<float>(), SetAtomicNone(), SetMMLayoutTransform(false); });
    clean(false, [] { Adds(ub(0), ub(8192), 1.0f, uint64_t(64), 1, UnaryRepeatParams()), ResetMask(); });
    clean(false, [] {
        Adds(ub(0), ub(8192), 1.0f, uint64_t(64), 1, UnaryRepeatParams());
        Adds(ub(16384), ub(8192), 1.0f, 8);
    });
}

CASE(the_scalar_cache_is_as_the_kernel_before_left_it) {
    Memory m;
    auto stale = [&](const std::function<void()> &body) {
        HpmoeHostResult result = bare(false, m, body);
        bool refused = result.code == HPMOE_HOST_BROKEN_RULE && contains(result.message, "ENTIRE_DATA_CACHE");
        EXPECT(refused, result.message);
    };
    stale([&] { global(m.own.data).GetValue(0); });
    stale([&] { global(m.own.data).SetValue(0, 1.0f); });
    stale([&] { DataCachePreload(global(reinterpret_cast<uint64_t *>(m.own.data)), 0); });
    auto forget = [&](uint64_t i) {
        DataCacheCleanAndInvalid<float, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(global(m.own.data)[i]);
    };
    stale([&] { forget(0), global(m.own.data).GetValue(16); });
    HpmoeHostResult result = bare(false, m, [&] {
        forget(16);
        m.own[16] = global(m.own.data).GetValue(16) + 1.0f;
    });
    EXPECT(result.code == HPMOE_HOST_OK && m.own[16] == 1.0f, result.message);
}

CASE(the_cube_is_checked) {
    B l1(TPosition::A1, 0, 1024), a(TPosition::A2, 0, 1024), b(TPosition::B2, 0, 1024);
    F c(TPosition::CO1, 0, 1024);
    AIC(W("not a multiple of 512"), LoadData(a[16], l1, LoadData2DParams(0, 1, 1, 0, 0, false, 0)));
    AIC(W("ifTranspose works on 16-bit"),
        LoadData(F(TPosition::A2, 0, 64), F(TPosition::A1, 0, 64), LoadData2DParams(0, 1, 1, 0, 0, true, 0)));
    AIC(W("L1, of which 524032 are usable"), LoadData(a, l1, LoadData2DParams(1023, 1, 1, 0, 0, false, 0)));
    AIC(W("not a multiple of 1024"), Mmad(c[16], a, b, MmadParams(16, 16, 16, 0, false, true)));
    AIC(W("k = 4096"), Mmad(c, a, b, MmadParams(16, 16, 4096, 0, false, true)));
    AIC(W("A takes bytes 0..98304 of L0A"), Mmad(c, a, b, MmadParams(192, 16, 256, 0, false, true)));
    AIC(W("unitFlag = 1"), Mmad(c, a, b, MmadParams(16, 16, 16, 1, false, true)));
    AIC(W("B must be in L0B"), Mmad(c, a, a, MmadParams(16, 16, 16, 0, false, true)));
    AIC(W("quantPre does not fit"), Fixpipe<bfloat16_t, float>(global(reinterpret_cast<bfloat16_t *>(m.own.data)), c,
                                                               FixpipeParamsV220(16, 16, 16, 16, false)));
    AIC(W("rows overlap in global memory"),
        Fixpipe<float, float>(global(m.own.data), c, FixpipeParamsV220(16, 16, 16, 8, false)));
    AIC(W("race in L0C", "PipeBarrier<PIPE_M>"), Mmad(c, a, b, MmadParams(16, 16, 16, 0, false, true)),
        Mmad(c, a, b, MmadParams(16, 16, 16, 0, false, false)));
    AIC(W("unit flag of L0C bytes 0..512"), Mmad(c, a, b, MmadParams(16, 16, 16, 3, false, true)));
    AIC(W("deadlock", "in front of PIPE_FIX: Fixpipe"),
        Fixpipe<float, float>(global(m.own.data), c, FixpipeParamsV220(16, 16, 16, 16, false, NoQuant, 0, 1, 0, 0, 3)));
    AIC(W("reaches UB only"), l1.GetValue(0));
    AIV(W("exists on an AIC only"), Mmad(c, a, b, MmadParams(16, 16, 16, 0, false, true)));
}

CASE(vector_calls_are_checked) {
    B narrow(TPosition::VECCALC, 0, 1024);
    LocalTensor<uint8_t> bits(TPosition::VECCALC, 65536, 1024);
    AIV(W("no vector arithmetic on bfloat16_t", "Cast"), Add(narrow, narrow, narrow, 64));
    AIV(W("CAST_RINT"), Cast(narrow, ub(8192), RoundMode::CAST_NONE, 64));
    uint64_t kept = 0;
    AIV(W("src0Pattern"), GatherMask(ub(0), ub(8192), 8, true, 64, {1, 1, 8, 0}, kept));
    AIV(W("overlap"), GatherMask(ub(0), ub(64), 1, true, 64, {1, 1, 8, 0}, kept));
    AIV(W("src0BlockStride = 0", "of stride 1"),
        GatherMask(ub(0), ub(8192), LocalTensor<uint32_t>(TPosition::VECCALC, 16384, 8), true, 64, {0, 1, 8, 1}, kept));
    AIV(W("mask = 0"), GatherMask(ub(0), ub(8192), 1, true, 0, {1, 1, 8, 0}, kept));
    AIV(W("mask = 0"),
        GatherMask(ub(0), ub(8192), LocalTensor<uint32_t>(TPosition::VECCALC, 16384, 8), true, 0, {1, 1, 8, 1}, kept));
    AIV(W("16 or 32 bit"),
        GatherMask(LocalTensor<int8_t>(TPosition::VECCALC, 0, 64), LocalTensor<int8_t>(TPosition::VECCALC, 8192, 64), 1,
                   true, 64, {1, 1, 8, 0}, kept));
    AIV(W("this pair of types does not exist"),
        Cast(LocalTensor<half>(TPosition::VECCALC, 0, 64), B(TPosition::VECCALC, 8192, 64), RoundMode::CAST_NONE, 64));
    const LocalTensor<half> halves(TPosition::VECCALC, 0, 64);
    const LocalTensor<int4b_t> nibbles(TPosition::VECCALC, 8192, 64);
    AIV(W("two numbers of four bits lie in a byte", "63"), Cast(halves, nibbles, RoundMode::CAST_NONE, 63));
    AIV(W("not with this RoundMode"), Cast(halves, nibbles, RoundMode::CAST_RINT, 64));
    AIV(W("this pair of types does not exist"), Cast(ub(0), nibbles, RoundMode::CAST_NONE, 64));
    AIV(W("overlap"), Cast(halves, LocalTensor<int4b_t>(TPosition::VECCALC, 96, 64), RoundMode::CAST_NONE, 64));
    AIV(W("overlap in part"), Add(ub(32), ub(0), ub(8192), 64));
    AIV(W("not a multiple of 256 B"), Compare(bits, ub(0), ub(8192), CMPMODE::LT, 65));
    AIV(W("CompareScalar", "not a multiple of 256 B"), CompareScalar(bits, ub(0), 1.0f, CMPMODE::LT, 63));
    AIV(W("CompareScalar", "the first source"), CompareScalar(bits, ub(65536), 1.0f, CMPMODE::LT, 64));
    AIV(W("VSEL_TENSOR_SCALAR_MODE only"), Select(ub(0), bits, ub(8192), 1.0f, SELMODE::VSEL_TENSOR_TENSOR_MODE, 64));
    AIV(W("VSEL_TENSOR_TENSOR_MODE only"),
        Select(ub(0), bits, ub(8192), ub(4096), SELMODE::VSEL_TENSOR_SCALAR_MODE, 64));
    AIV(W("mask (lanes of a repeat) = 65"), Add(ub(0), ub(8192), ub(16384), uint64_t(65), 1, BinaryRepeatParams()));
    AIV(W("repeat 1 reads bytes 256.. of UB (the first source), which repeat 0 writes"),
        Adds(ub(256), ub(0), 1.0f, uint64_t(64), 2, UnaryRepeatParams()));
    AIV(W("race in UB", "reads what Exp", "PipeBarrier<PIPE_V>"), Exp(ub(0), ub(8192), 64),
        Adds(ub(16384), ub(0), 1.0f, 64));
    AIV(W("race in UB", "HardEvent::S_V"), ub(0).SetValue(0, 1.0f), Adds(ub(16384), ub(0), 1.0f, 64));
    AIV(W("race in UB", "HardEvent::V_S"), Adds(ub(16384), ub(0), 1.0f, 64), PipeBarrier<PIPE_V>(),
        ub(16384).GetValue(0));
    static uint64_t early;
    AIV(W("may not have run yet", "HardEvent::V_S"),
        GatherMask(ub(16384), ub(0), 1, true, 8, GatherMaskParams(1, 1, 8, 0), early), GetGatherMaskRemainCount());
    AIC(W("exists on an AIV only"), Exp(ub(0), ub(8192), 64));
}

CASE(an_error_of_one_rank_stops_the_others) {
    volatile int32_t stop = 0;
    static thread_local bool wrong;
    g_body = [] {
        if (wrong) SetFlag<HardEvent::M_FIX>(0);
        for (;;) GetSystemCycle();
    };
    HpmoeHostResult results[2];
    auto rank = [&](uint32_t r) {
        wrong = r == 1;
        HpmoeHostOptions options = {};
        options.rank = r, options.aiv = 4, options.stop = &stop;
        hpmoe_host_run([](uint8_t *) { g_body(); }, nullptr, &options, &results[r]);
    };
    std::thread other(rank, 1);
    rank(0);
    other.join();
    EXPECT(results[0].code == HPMOE_HOST_STOPPED, results[0].message);
    EXPECT(results[1].code == HPMOE_HOST_BROKEN_RULE && contains(results[1].message, "rank 1, AIV"),
           results[1].message);
}

} // namespace
