#include "harness.h"

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
    using namespace AscendC;
    InitSocState();
    DataCacheCleanAndInvalid<int32_t, CacheLine::ENTIRE_DATA_CACHE, DcciDst::CACHELINE_OUT>(GlobalTensor<int32_t>());
}

void end() {
    if ASCEND_IS_AIV {
        AscendC::ResetMask();
    }
}

HpmoeHostResult launch(const Setup &setup, std::function<void()> body) {
    g_body = std::move(body);
    if (!setup.bare)
        g_body = [inside = std::move(g_body)] {
            begin();
            inside();
            end();
        };
    HpmoeHostOptions options = {};
    options.rank = setup.rank, options.aic = setup.aic, options.aiv = setup.aiv, options.threads = setup.threads;
    options.seed = setup.seed, options.stop = setup.stop, options.races = setup.races;
    options.regions = setup.regions.data(), options.region_count = setup.regions.size();
    HpmoeHostResult result;
    hpmoe_host_run(hostTestKernel, nullptr, &options, &result);
    return result;
}

/// Runs all cases, or those whose name contains the argument; one line each.
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
