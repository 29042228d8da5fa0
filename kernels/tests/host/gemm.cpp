// A double-buffered matrix product: correct for every seed. Without any one pair of flags, some seed makes it wrong or refused.
#include <chrono>
#include <cmath>

#include "harness.h"

using namespace AscendC;

namespace {

struct Problem {
    uint32_t m, n, k, tiles; // tiles: number of times that the product is computed, each into its own output
    uint32_t l1K, l0K;
    bool unitFlags;
};

enum Skip { Nothing, Mte2Mte1A, Mte2Mte1W, Mte1Mte2A, Mte1Mte2W, Mte1M, MMte1, MFix, FixM, UnitFlag, PairCount };

uint32_t up16(uint32_t x) { return (x + 15) / 16 * 16; }

template <HardEvent event> void set(bool wanted, int id) {
    if (wanted) SetFlag<event>(id);
}
template <HardEvent event> void wait(bool wanted, int id) {
    if (wanted) WaitFlag<event>(id);
}

void gemm(const Problem &p, Skip skip, bfloat16_t *a, bfloat16_t *w, bfloat16_t *c) {
    using T = bfloat16_t;
    InitSocState();
    SetMMLayoutTransform(true);
    const uint32_t mp = up16(p.m), np = up16(p.n), n1 = np / 16, aBytes = mp * p.l1K * 2, wBytes = np * p.l1K * 2;
    const uint32_t mm = p.m == 1 ? 16 : p.m;
    LocalTensor<T> l1A[2] = {{TPosition::A1, 0, mp * p.l1K}, {TPosition::A1, aBytes, mp * p.l1K}};
    LocalTensor<T> l1W[2] = {{TPosition::B1, 2 * aBytes, np * p.l1K}, {TPosition::B1, 2 * aBytes + wBytes, np * p.l1K}};
    LocalTensor<T> l0A[2] = {{TPosition::A2, 0, 16384}, {TPosition::A2, 32768, 16384}};
    LocalTensor<T> l0B[2] = {{TPosition::B2, 0, 16384}, {TPosition::B2, 32768, 16384}};
    LocalTensor<float> l0C(TPosition::CO1, 0, 32768);
    const bool mte21A = skip != Mte2Mte1A, mte21W = skip != Mte2Mte1W, mte12A = skip != Mte1Mte2A,
               mte12W = skip != Mte1Mte2W, mte1m = skip != Mte1M, mmte1 = skip != MMte1,
               mfix = !p.unitFlags && skip != MFix, fixm = !p.unitFlags && skip != FixM;
    const uint8_t unitOn = p.unitFlags && skip != UnitFlag ? 1 : 0;
    for (int s = 0; s < 2; ++s) {
        set<HardEvent::MTE1_MTE2>(mte12A, s);
        set<HardEvent::MTE1_MTE2>(mte12W, 2 + s);
        set<HardEvent::M_MTE1>(mmte1, s);
    }
    set<HardEvent::FIX_M>(fixm, 0);
    uint32_t s = 0, t = 0;
    for (uint32_t tile = 0; tile < p.tiles; ++tile) {
        wait<HardEvent::FIX_M>(fixm, 0);
        for (uint32_t kb = 0; kb * p.l1K < p.k; ++kb, s ^= 1) {
            uint32_t len = p.k - kb * p.l1K < p.l1K ? p.k - kb * p.l1K : p.l1K;
            wait<HardEvent::MTE1_MTE2>(mte12A, s);
            DataCopy(l1A[s], global(a)[kb * p.l1K], Nd2NzParams(1, p.m, len, 0, p.k, mp, 1, 0));
            set<HardEvent::MTE2_MTE1>(mte21A, s);
            wait<HardEvent::MTE1_MTE2>(mte12W, 2 + s);
            DataCopy(l1W[s], global(w)[kb * p.l1K], Nd2NzParams(1, p.n, len, 0, p.k, np, 1, 0));
            set<HardEvent::MTE2_MTE1>(mte21W, 2 + s);
            uint32_t steps = (len + p.l0K - 1) / p.l0K;
            for (uint32_t ks = 0; ks < steps; ++ks, t ^= 1) {
                uint32_t kk = len - ks * p.l0K < p.l0K ? len - ks * p.l0K : p.l0K, k1 = up16(kk) / 16;
                bool last = ks + 1 == steps;
                wait<HardEvent::M_MTE1>(mmte1, t);
                if (ks == 0) wait<HardEvent::MTE2_MTE1>(mte21A, s);
                for (uint32_t i = 0; i < k1; ++i)
                    LoadData(l0A[t][i * 256], l1A[s][(p.l0K / 16 * ks + i) * mp * 16],
                             LoadData2DParams(0, static_cast<uint8_t>(mp / 16), 1, 0, static_cast<uint16_t>(k1 - 1),
                                              false, 0));
                if (last) set<HardEvent::MTE1_MTE2>(mte12A, s);
                if (ks == 0) wait<HardEvent::MTE2_MTE1>(mte21W, 2 + s);
                LoadData(l0B[t], l1W[s][ks * p.l0K * np],
                         LoadData2DParams(0, static_cast<uint8_t>(n1 * k1), 1, 0, 0, false, 0));
                if (last) set<HardEvent::MTE1_MTE2>(mte12W, 2 + s);
                set<HardEvent::MTE1_M>(mte1m, t);
                wait<HardEvent::MTE1_M>(mte1m, t);
                bool final = last && (kb + 1) * p.l1K >= p.k;
                MmadParams mp0;
                mp0.m = static_cast<uint16_t>(mm), mp0.n = static_cast<uint16_t>(p.n),
                mp0.k = static_cast<uint16_t>(kk);
                mp0.unitFlag = static_cast<uint8_t>(unitOn * (final ? 3 : 2));
                mp0.cmatrixInitVal = kb == 0 && ks == 0;
                Mmad(l0C, l0A[t], l0B[t], mp0);
                if ((mm / 16) * (p.n / 16) < 10) PipeBarrier<PIPE_M>();
                set<HardEvent::M_MTE1>(mmte1, t);
            }
        }
        set<HardEvent::M_FIX>(mfix, 0);
        wait<HardEvent::M_FIX>(mfix, 0);
        Fixpipe<T, float, CFG_ROW_MAJOR>(global(c)[tile * p.m * p.n], l0C,
                                         FixpipeParamsV220(static_cast<uint16_t>(p.n), static_cast<uint16_t>(p.m),
                                                           static_cast<uint16_t>(mp), p.n, false, F322BF16, 0, 1, 0, 0,
                                                           static_cast<uint8_t>(unitOn * 3)));
        set<HardEvent::FIX_M>(fixm, 0);
    }
    for (int i = 0; i < 2; ++i) {
        wait<HardEvent::MTE1_MTE2>(mte12A, i);
        wait<HardEvent::MTE1_MTE2>(mte12W, 2 + i);
        wait<HardEvent::M_MTE1>(mmte1, i);
    }
    wait<HardEvent::FIX_M>(fixm, 0);
    PipeBarrier<PIPE_ALL>();
    SetMMLayoutTransform(false);
}

/// Computes the product; returns 0 if it is correct, 1 if numbers are wrong, 2 if it was refused.
int outcome(const Problem &p, Skip skip, uint64_t seed, std::string *message) {
    Buffer<bfloat16_t> a(p.m * p.k), w(p.n * p.k), c(p.tiles * p.m * p.n, bfloat16_t(-777.0f));
    Data data{7};
    for (size_t i = 0; i < a.count; ++i) a[i] = bfloat16_t(data.next());
    for (size_t i = 0; i < w.count; ++i) w[i] = bfloat16_t(data.next());
    Setup setup;
    setup.aiv = 0, setup.seed = seed;
    setup.regions = {a.region("a", false), w.region("w", false), c.region("c")};
    HpmoeHostResult result = launch(setup, [&] { gemm(p, skip, a.data, w.data, c.data); });
    *message = result.message;
    if (result.code) return 2;
    for (uint32_t tile = 0; tile < p.tiles; ++tile)
        for (uint32_t i = 0; i < p.m; ++i)
            for (uint32_t j = 0; j < p.n; ++j) {
                float sum = 0;
                for (uint32_t k = 0; k < p.k; ++k) {
                    float product = float(a[i * p.k + k]) * float(w[j * p.k + k]);
                    sum = sum + product;
                }
                if (AscendC::host::rawBits(bfloat16_t(sum)) != AscendC::host::rawBits(c[(tile * p.m + i) * p.n + j]))
                    return 1;
            }
    return 0;
}

CASE(gemm_is_right_for_every_seed_and_tail) {
    std::string message;
    for (uint64_t seed = 0; seed < 30; ++seed)
        for (bool units : {false, true}) {
            EXPECT(outcome({48, 64, 176, 2, 64, 32, units}, Nothing, seed, &message) == 0, message);
            EXPECT(outcome({100, 48, 40, 2, 64, 32, units}, Nothing, seed, &message) == 0, message);
            EXPECT(outcome({1, 40, 97, 3, 48, 16, units}, Nothing, seed, &message) == 0, message);
        }
    EXPECT(outcome({128, 256, 512, 1, 256, 64, true}, Nothing, 3, &message) == 0, message);
    EXPECT(outcome({100, 200, 304, 1, 256, 64, true}, Nothing, 3, &message) == 0, message);
}

CASE(gemm_without_any_one_flag_is_found) {
    static const char *const names[] = {"",       "MTE2_MTE1 A", "MTE2_MTE1 W", "MTE1_MTE2 A", "MTE1_MTE2 W",
                                        "MTE1_M", "M_MTE1",      "M_FIX",       "FIX_M",       "unitFlag"};
    for (int skip = 1; skip < PairCount; ++skip) {
        int found = 0;
        std::string message, last;
        for (uint64_t seed = 0; seed < 30; ++seed) {
            found += outcome({48, 64, 176, 2, 32, 16, skip == UnitFlag}, static_cast<Skip>(skip), seed, &message) != 0;
            if (!message.empty()) last = message;
        }
        std::printf("    without %-12s found in %d of 30 runs: %.150s\n", names[skip], found, last.c_str());
        EXPECT(found >= 1, names[skip]);
    }
}

CASE(gemm_speed) {
    Problem p = {128, 256, 2048, 8, 256, 64, true};
    Buffer<bfloat16_t> a(p.m * p.k, bfloat16_t(1.0f)), w(p.n * p.k, bfloat16_t(0.5f)), c(p.tiles * p.m * p.n);
    Setup setup;
    setup.aiv = 0;
    setup.regions = {a.region("a", false), w.region("w", false), c.region("c")};
    auto start = std::chrono::steady_clock::now();
    HpmoeHostResult result = launch(setup, [&] { gemm(p, Nothing, a.data, w.data, c.data); });
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT(result.code == 0, result.message);
    std::printf("    %.1f GFLOP/s on one thread, %llu Mmads, %.3f s\n",
                static_cast<double>(result.mmad_flops) / seconds * 1e-9, static_cast<unsigned long long>(result.mmads),
                seconds);
    EXPECT(float(c[5]) == 1024.0f);
}

} // namespace
