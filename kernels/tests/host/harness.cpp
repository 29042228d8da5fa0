#include "harness.h"

using namespace AscendC;

static std::vector<Case> &cases() {
    static std::vector<Case> all;
    return all;
}
static int g_failures;

Case::Case(const char *name, void (*run)()) : name(name), run(run) { cases().push_back(*this); }

void expectAt(bool holds, const char *file, int line, const char *what, const std::string &detail) {
    if (holds) return;
    ++g_failures;
    if (g_failures <= 20) std::printf("    %s:%d: expected %s %s\n", file, line, what, detail.c_str());
}

std::function<void()> g_body;
extern "C" __global__ __aicore__ void hostTestKernel(GM_ADDR) { g_body(); }

void begin() {
    InitSocState();
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(GlobalTensor<int32_t>());
}

void end() {
    if ASCEND_IS_AIV {
        ResetMask();
    }
}

uint64_t control() { return static_cast<uint64_t>(get_ctrl()); }

int32_t look(const Word &word) {
    DataCacheCleanAndInvalid<int32_t, CacheLine::SINGLE_CACHE_LINE, DcciDst::CACHELINE_OUT>(word);
    return word.GetValue(0);
}

bool await(const Word &word, int32_t need, bool dcci, int64_t cycles) {
    int64_t begin = GetSystemCycle();
    while ((dcci ? look(word) : word.GetValue(0)) < need)
        if (GetSystemCycle() - begin > cycles) return false;
    return true;
}

void addFromVector(int32_t *counter, int32_t n) {
    LocalTensor<int32_t> line(TPosition::VECCALC, 160 * 1024, 8);
    Duplicate(line, 0, 8);
    SetFlag<HardEvent::V_S>(5);
    WaitFlag<HardEvent::V_S>(5);
    line.SetValue(0, n);
    SetFlag<HardEvent::S_MTE3>(5);
    WaitFlag<HardEvent::S_MTE3>(5);
    SetAtomicAdd<int32_t>();
    DataCopy(global(counter), line, 8);
    SetAtomicNone();
    SetFlag<HardEvent::MTE3_V>(5);
    WaitFlag<HardEvent::MTE3_V>(5);
}

HpmoeHostResult launch(const Setup &setup, std::function<void()> body) {
    g_body = std::move(body);
    if (!setup.bare)
        g_body = [inside = std::move(g_body)] {
            const uint64_t infinities = control() & 1ull << 48;
            set_ctrl(sbitset1(control(), 48));
            begin();
            if ASCEND_IS_AIC {
                SetHF32Mode(false);
            }
            inside();
            end();
            set_ctrl(sbitset0(control(), 48) | infinities);
        };
    HpmoeHostOptions options = {};
    options.rank = setup.rank, options.aic = setup.aic, options.aiv = setup.aiv, options.threads = setup.threads;
    options.seed = setup.seed, options.stop = setup.stop, options.races = setup.races;
    options.alone_us = setup.alone_us, options.unchecked = setup.unchecked;
    options.attend = setup.attend, options.attended = setup.attended;
    options.regions = setup.regions.data(), options.region_count = setup.regions.size();
    HpmoeHostResult result;
    hpmoe_host_run(hostTestKernel, nullptr, &options, &result);
    return result;
}

/// Runs all cases, or those whose names contain the argument, and prints a line for each.
int main(int count, char **arguments) {
    int bad = 0;
    for (const Case &c : cases()) {
        if (count > 1 && !contains(c.name, arguments[1])) continue;
        g_failures = 0;
        c.run();
        std::printf("%-4s %s\n", g_failures ? "FAIL" : "ok", c.name);
        std::fflush(stdout);
        bad += g_failures != 0;
    }
    return bad ? 1 : 0;
}
